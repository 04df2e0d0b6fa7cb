/*
 * One chunk of LeaseFS: mutations through a primary, and changes of its configuration by begin,
 * seal, recover, activate, and its early seal. Untimed: leases, heartbeats and clocks are left out altogether, and a
 * new primary may be activated at any moment, also while the old one still works. What holds here
 * holds whatever any clock does.
 *
 * Messages are facts that stay: once said, a fact may be acted upon at any later time, any number
 * of times, by anybody, or never. That is loss, delay, doubling and reordering all at once.
 *
 * A replica may crash at any moment. What is in its journal stays (the kernel has it), what was
 * only accepted into its queue is lost, and it is no primary any more.
 *
 * To keep the search small, and without loss: a fact is said as soon as it can be, since saying it
 * later gives nothing more; an acknowledgement that may leave leaves, since it only adds to what
 * must hold; a recovery names all replicas as targets, since one that never starts is as good as
 * not named; mutation 2 comes after mutation 1, since both are alike; what can never matter again
 * is forgotten (tidy).
 *
 * The answer to a seal carries (accepted version, last serial). A version is recovered from the
 * highest of the answers that are in, one being enough, and its recovered length is the serial in
 * that answer. Step 4 of the protocol says that what the seed *has* becomes history, and so does
 * SeedRole: in the protocol that is the same, for a promise is durable before it is answered and
 * nothing stamped lower is appended after it. Here it is asserted.
 *
 * Checked: an acknowledged mutation is, at the serial it was acknowledged with, in the start of
 * every version activated or sealed before or after (I6); members never differ where something was
 * acknowledged (I5); a mutation has one serial for ever, and one that a sealed chunk has answered
 * as not applied is never acknowledged (I9); a seed starts with what it answered.
 *
 * Broken variants, each of which must fail: -DPROMISE_VOLATILE a crash forgets which versions a
 * replica has promised and started; -DNO_READ a version starts without its members taking over the
 * seed's history; -DNO_BARRIER a seal neither waits for appends accepted before it nor counts
 * them, and acknowledgements do not look at the promise as they leave; -DNO_FENCE a replica takes
 * and acknowledges what is stamped below the version that it has started; -DQUORUM an
 * acknowledgement takes two members of three; -DANY_SEED a recovery may start from a replica that
 * is no member; -DTWO_PENDING a change that a later Begin has replaced may still be activated;
 * -DSEAL_UNPROMISED an early seal at the length that one member tells, without promise and version
 * start; -DPROMISE_ALONE_VOLATILE a crash forgets promises, not started versions: the old primary
 * goes on with a member that has answered, and the version starts at the answered length.
 * Where the seed starts with what it has then (-DSTART_AT_HELD), whatever it answered, the last one
 * must not fail: the durable version start fences as well. That says nothing about I7, which
 * a forgotten promise breaks by itself, nor about a power cut.
 *
 * Left out. Of the configuration: incarnations, and that a named seed which has registered since is
 * none (so a restarted seed goes on here, which is more than the protocol allows); a seed named by
 * Begin; learners, the lone seed, members outside the first three, minReplicas other than 2;
 * uncertain and damaged copies, the operator's giving up, power cuts (a crash keeps the journal);
 * committed serials, and that nobody cuts below his own; the recovery of a history record by record
 * (a target takes it in one step); leases, gates and sessions; snapshots, deletion, repair. Of
 * sealing: SEAL as a record that a primary appends and commits (a full chunk, a close); that SEAL
 * is part of the version start (here it is decided only as the seal is logged, which allows more);
 * that it waits for the gate above a WRITE or TRUNCATE; reopening; a sealed chunk's copies; readers.
 * Of mutations: kinds, offsets and lengths (a mutation is one serial), `after`, ABORT, DEAD, FORGET,
 * the table's floor and its place in the recovered state (PRESENT asks the whole history), windows of
 * more than one frame, held-back frames, fences and tokens, the policy `synced`.
 */

#define N 3              /* replicas */
#ifndef V
#define V 3              /* versions, from 1, at most 4 */
#endif
#ifndef S
#define S 2              /* serials, at most 2 */
#endif
#ifndef M
#define M 2              /* mutations, at most 2; clients send each as often as they like */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#define NEVER 7          /* a serial that there is not: told that it is not applied */
#define GONE 4           /* stands for a replica that does not matter any more */

#define AT(v, s) ((v) * S + (s))
#define BIT(r) (1 << (r))
#define HAS(set, r) (((set) >> (r)) & 1)
/* (accepted version, last serial) in one number, in the order in which seeds are compared */
#define ANSWER(r) (accepted[r] * 4 + held[r])
#define LENGTH_IN(ans) ((ans) & 3)
#define SIZE(set) (((set) & 1) + (((set) >> 1) & 1) + (((set) >> 2) & 1))

/* Rules that the broken variants break. */
#ifdef NO_FENCE
#define UNFENCED(r, v) (accepted[r] >= v)
#define AT_VERSION(r, v) (accepted[r] >= v)
#else
#define UNFENCED(r, v) (accepted[r] == v && promised[r] == v)
#define AT_VERSION(r, v) (accepted[r] == v)
#endif
#if defined(NO_BARRIER) || defined(NO_FENCE)
#define MAY_ACKNOWLEDGE(r, v) true
#else
#define MAY_ACKNOWLEDGE(r, v) (promised[r] == v)
#endif
#ifdef NO_BARRIER
#define DRAINED(r) true
#else
#define DRAINED(r) (queued[r] == 0)
#endif
#ifdef QUORUM
#define ENOUGH(v, s) (SIZE(acks[AT(v, s)] & cfg[v]) >= 2)
#else
#define ENOUGH(v, s) ((acks[AT(v, s)] & cfg[v]) == cfg[v])
#endif
#ifdef ANY_SEED
#define MAY_SEED(r, v) true
#define SEED_READY(r, v) (promised[r] <= v)
#define START_AT_HELD /* it has answered nothing */
#else
/* of the answers that are in, none is better; one is enough */
#define NOT_BELOW(v, r, other) (answer[(v) * N + r] >= answer[(v) * N + other])
#define MAY_SEED(r, v) (answer[(v) * N + r] != 0 && NOT_BELOW(v, r, 0) && NOT_BELOW(v, r, 1) \
    && NOT_BELOW(v, r, 2))
#define SEED_READY(r, v) (promised[r] == v)
#endif

#ifdef TWO_PENDING
#define PENDING(v) (v <= last)
#else
#define PENDING(v) (v == last)
#endif
#define WANTS_ANSWERS(v) (PENDING(v) && seed[v] == 0 && base[v] == current)

#define LEADER(v, r) (leads[v] && primary[v] == r + 1 && accepted[r] == v)
#if defined(NO_FENCE) || defined(PROMISE_VOLATILE)
#define NOBODY_AT(v) false /* they may come back to it */
#else
#define NOBODY_AT(v) (accepted[0] != v && accepted[1] != v && accepted[2] != v)
#endif
#define PRESENT(r, m) (queued[r] == m \
    || (held[r] > 0 && content[(r) * S] == m) \
    || (held[r] > 1 && content[(r) * S + 1] == m))

#define HAS_IT(v, r, s) (AT_VERSION(r, v) && HAS(cfg[v], r) && held[r] > s \
    && forwarded[AT(v, s)] != 0)

/* durable at each replica */
byte promised[N];
byte accepted[N];
byte held[N];
byte content[N * S];     /* mutation at replica r, serial s is r * S + s */

/* volatile at each replica: one append accepted and not yet in the journal */
byte queued[N];

/* the master's log */
byte last = 1;           /* version allocated last */
byte current = 1;
bool sealed;
byte base[V + 1];        /* version that was current at Begin */
byte cfg[V + 1];         /* members, or targets until activated */
byte seed[V + 1];        /* replica + 1 */
byte primary[V + 1];     /* replica + 1; 0 until activated */

/* facts on the network */
byte forwarded[(V + 1) * S];
byte acks[(V + 1) * S];  /* set of replicas */
byte answer[(V + 1) * N]; /* of replica r to the seal of v, at v * N + r: ANSWER, or 0 */
byte startLen[V + 1];    /* recovered length: logged with the seed, from its answer */
byte start[(V + 1) * S];
byte started[V + 1];     /* set of replicas at which the version start is durable */

/* volatile: a primary that has not crashed since it was made one */
bool leads[V + 1];

/* what clients know */
byte ackedSerial[M + 1]; /* serial + 1; NEVER once the chunk is sealed without it */

byte crashes;
bool sent;               /* mutation 1 has been sent */
hidden byte a, b, c, d, e; /* scratch, used only inside one step */

/* a client is told that mutation mut is at serial ser of version ver */
inline acknowledge(ver, ser, mut) {
  assert(ackedSerial[mut] == 0 || ackedSerial[mut] == ser + 1); /* I9 */
  ackedSerial[mut] = ser + 1;
  a = 0;
  do
  :: a < N ->
     if
     :: HAS(cfg[ver], a) && current == ver && accepted[a] == ver && held[a] > ser ->
        assert(content[a * S + ser] == mut) /* I5 */
     :: else
     fi;
     a++
  :: else -> break
  od;
  a = ver + 1;
  do
  :: a <= current ->
     if
     :: primary[a] != 0 -> assert(startLen[a] > ser && start[AT(a, ser)] == mut) /* I6 */
     :: else
     fi;
     a++
  :: else -> break
  od
}

/* replica rep has serial ser: it tells the primary, which answers once it has heard enough */
inline tell(ver, rep, ser) {
  if
  :: HAS_IT(ver, rep, ser) && MAY_ACKNOWLEDGE(rep, ver) ->
     acks[AT(ver, ser)] = acks[AT(ver, ser)] | BIT(rep);
     if
     :: leads[ver] && ENOUGH(ver, ser) ->
        b = primary[ver] - 1;
        if
        :: accepted[b] == ver && MAY_ACKNOWLEDGE(b, ver) ->
           acknowledge(ver, ser, forwarded[AT(ver, ser)])
        :: else
        fi
     :: else
     fi
  :: else
  fi
}

/* forgets what no step can look at any more */
inline tidy() {
  c = 1;
  do
  :: c <= V ->
     if
     :: primary[c] != 0 ->
        if
        :: primary[c] != GONE && accepted[primary[c] - 1] != c -> primary[c] = GONE; leads[c] = false
        :: else
        fi;
        seed[c] = GONE; started[c] = 0;
        d = 1; e = 0; /* e: an older primary may still answer, or a later change begins here */
        do
        :: d < c -> e = e | leads[d]; d++
        :: else -> break
        od;
        d = 0;
        do
        :: d < S ->
           if
           :: e == 0 -> start[AT(c, d)] = 0
           :: else
           fi;
           if
           :: !leads[c] -> acks[AT(c, d)] = 0
           :: else
           fi;
           if
           :: NOBODY_AT(c) -> forwarded[AT(c, d)] = 0
           :: else
           fi;
           d++
        :: else -> break
        od;
        if
        :: e == 0 -> startLen[c] = 0
        :: else
        fi;
        d = c + 1; e = (c == current);
        do
        :: d <= last -> e = e | (base[d] == c); d++
        :: else -> break
        od;
        if
        :: e == 0 && NOBODY_AT(c) -> cfg[c] = 0
        :: else
        fi
     :: else
     fi;
     if
     :: !WANTS_ANSWERS(c) -> answer[c * N] = 0; answer[c * N + 1] = 0; answer[c * N + 2] = 0
     :: else
     fi;
     c++
  :: else -> break
  od
}

/* a client's mutation reaches a primary, old or new */
#define SEND(v, r, m) \
  :: d_step { LEADER(v, r) && promised[r] == v && queued[r] == 0 && held[r] < S && !PRESENT(r, m) \
       && (m == 1 || sent) -> \
       queued[r] = m; forwarded[AT(v, held[r])] = m; sent = true; c = held[r]; \
       tell(v, 0, c); tell(v, 1, c); tell(v, 2, c); skip }

/* a secondary takes the next forwarded mutation */
#define TAKE(v, r) \
  :: d_step { HAS(cfg[v], r) && primary[v] != 0 && primary[v] != r + 1 && UNFENCED(r, v) \
       && queued[r] == 0 && held[r] < S && forwarded[AT(v, held[r])] != 0 -> \
       queued[r] = forwarded[AT(v, held[r])] }

/* the queue's append reaches the journal */
#define WRITE(r) \
  :: d_step { queued[r] != 0 && held[r] < S -> \
       content[r * S + held[r]] = queued[r]; held[r]++; queued[r] = 0; c = 1; \
       do \
       :: c <= V -> tell(c, r, held[r] - 1); c++ \
       :: else -> break \
       od; \
       skip }

/* seal: promise, durable; what was accepted before is in the journal first */
#define SEAL(v, r) \
  :: d_step { v <= last && promised[r] < v && HAS(cfg[base[v]], r) && DRAINED(r) -> \
       promised[r] = v; \
       answer[(v) * N + r] = (WANTS_ANSWERS(v) -> ANSWER(r) : 0) }

/*
 * recover: one seed a version, a member of the active configuration that has promised, with the
 * highest (accepted version, last serial) of those heard; what it answered is the recovered length
 */
#define RECOVER(v, r) \
  :: d_step { PENDING(v) && seed[v] == 0 && base[v] == current && MAY_SEED(r, v) -> \
       seed[v] = r + 1; cfg[v] = 7; startLen[v] = LENGTH_IN(answer[(v) * N + r]); \
       answer[(v) * N] = 0; answer[(v) * N + 1] = 0; answer[(v) * N + 2] = 0 }

/* the seed starts the version: with what it answered, which must be what it has */
#ifdef START_AT_HELD
#define RECOVERED(v, r) startLen[v] = held[r]
#elif defined(PROMISE_VOLATILE) || defined(PROMISE_ALONE_VOLATILE) || defined(NO_BARRIER) \
    || defined(NO_FENCE)
#define RECOVERED(v, r) \
       a = startLen[v]; \
       do \
       :: a < S -> content[r * S + a] = 0; a++ \
       :: else -> break \
       od; \
       held[r] = startLen[v] /* broken: let it be seen what that costs */
#else
#define RECOVERED(v, r) assert(held[r] == startLen[v]) /* the recovered length is definite */
#endif
#define START(v, r) \
  :: d_step { seed[v] == r + 1 && accepted[r] < v && SEED_READY(r, v) && DRAINED(r) -> \
       RECOVERED(v, r); a = 0; \
       do \
       :: a < held[r] -> start[AT(v, a)] = content[r * S + a]; a++ \
       :: else -> break \
       od; \
       promised[r] = v; accepted[r] = v; started[v] = started[v] | BIT(r); tidy(); skip }

/* a target takes over the seed's history */
#ifdef NO_READ
#define COPY(v, r) skip
#else
#define COPY(v, r) \
       held[r] = startLen[v]; a = 0; \
       do \
       :: a < S -> content[r * S + a] = (a < startLen[v] -> start[AT(v, a)] : 0); a++ \
       :: else -> break \
       od
#endif
#define FOLLOW(v, r) \
  :: d_step { seed[v] != 0 && primary[v] == 0 && accepted[r] < v && promised[r] <= v \
       && HAS(cfg[v], r) && HAS(started[v], seed[v] - 1) -> \
       promised[r] = v; accepted[r] = v; queued[r] = 0; started[v] = started[v] | BIT(r); \
       COPY(v, r); tidy(); skip }

/* activate: no gate here, for there are no clocks */
#define ACTIVATE(v, r) \
  :: d_step { PENDING(v) && primary[v] == 0 && base[v] == current && HAS(started[v], r) \
       && SIZE(started[v]) >= 2 -> \
       cfg[v] = started[v]; primary[v] = r + 1; leads[v] = true; current = v; \
       b = 1; \
       do \
       :: b <= M -> \
          if \
          :: ackedSerial[b] != 0 -> \
             assert(startLen[v] >= ackedSerial[b]); /* I6 */ \
             assert(start[AT(v, ackedSerial[b] - 1)] == b) \
          :: else \
          fi; \
          b++ \
       :: else -> break \
       od; \
       b = 0; \
       do /* activation committed what the version started with */ \
       :: b < startLen[v] && accepted[r] == v && MAY_ACKNOWLEDGE(r, v) -> \
          acknowledge(v, b, start[AT(v, b)]); b++ \
       :: else -> break \
       od; \
       tidy(); skip }

/*
 * early seal: the history that a version starts with is logged as the chunk's end, with no
 * primary and without waiting for the old one. The chunk's table now answers for every mutation:
 * applied there, or not applied, and then the client goes on with it in another chunk.
 */
#define SEALED(v) \
       primary[v] = GONE; current = v; sealed = true; \
       b = 0; \
       do \
       :: b < startLen[v] -> c = start[AT(v, b)]; \
          assert(ackedSerial[c] == 0 || ackedSerial[c] == b + 1); /* I9 */ \
          ackedSerial[c] = b + 1; b++ \
       :: else -> break \
       od; \
       b = 1; \
       do \
       :: b <= M -> \
          if \
          :: ackedSerial[b] != 0 -> \
             assert(startLen[v] >= ackedSerial[b]); /* I6: nothing acknowledged is beyond it */ \
             assert(start[AT(v, ackedSerial[b] - 1)] == b) \
          :: else -> ackedSerial[b] = NEVER \
          fi; \
          b++ \
       :: else -> break \
       od; \
       tidy(); skip
#ifdef SEAL_UNPROMISED
#define EARLY_SEAL(v, r) \
  :: d_step { !sealed && PENDING(v) && primary[v] == 0 && base[v] == current \
       && HAS(cfg[current], r) -> \
       startLen[v] = held[r]; a = 0; \
       do \
       :: a < held[r] -> start[AT(v, a)] = content[r * S + a]; a++ \
       :: else -> break \
       od; \
       SEALED(v) }
#else
#define EARLY_SEAL(v, r) \
  :: d_step { seed[v] == r + 1 && PENDING(v) && primary[v] == 0 && base[v] == current \
       && HAS(started[v], r) && SIZE(started[v]) >= 2 -> \
       cfg[v] = started[v]; SEALED(v) }
#endif

#ifdef PROMISE_VOLATILE
#define FORGET(r) promised[r] = 1; accepted[r] = 1
#elif defined(PROMISE_ALONE_VOLATILE)
#define FORGET(r) promised[r] = accepted[r]
#else
#define FORGET(r) skip
#endif
#define CRASH(r) \
  :: d_step { crashes < CRASHES -> \
       crashes++; queued[r] = 0; a = 1; \
       do \
       :: a <= V -> leads[a] = leads[a] && primary[a] != r + 1; a++ \
       :: else -> break \
       od; \
       FORGET(r); tidy(); skip }

#define FOR_EACH_REPLICA(step, v) step(v, 0) step(v, 1) step(v, 2)
#if M > 1
#define SEND_ALL(v) SEND(v, 0, 1) SEND(v, 1, 1) SEND(v, 2, 1) SEND(v, 0, 2) SEND(v, 1, 2) SEND(v, 2, 2)
#else
#define SEND_ALL(v) SEND(v, 0, 1) SEND(v, 1, 1) SEND(v, 2, 1)
#endif
#define CHANGE(v) FOR_EACH_REPLICA(SEAL, v) FOR_EACH_REPLICA(RECOVER, v) FOR_EACH_REPLICA(START, v) \
  FOR_EACH_REPLICA(FOLLOW, v) FOR_EACH_REPLICA(ACTIVATE, v) \
  FOR_EACH_REPLICA(EARLY_SEAL, v)

init {
  d_step {
    base[1] = 0; cfg[1] = 7; seed[1] = GONE; primary[1] = 1; leads[1] = true;
    promised[0] = 1; promised[1] = 1; promised[2] = 1;
    accepted[0] = 1; accepted[1] = 1; accepted[2] = 1
  }
end:
  do
  :: d_step { last < V && !sealed -> last++; base[last] = current; tidy(); skip } /* begin */
  SEND_ALL(1) FOR_EACH_REPLICA(TAKE, 1)
  SEND_ALL(2) FOR_EACH_REPLICA(TAKE, 2)
  CHANGE(2)
#if V > 2
  SEND_ALL(3) FOR_EACH_REPLICA(TAKE, 3)
  CHANGE(3)
#endif
#if V > 3
  SEND_ALL(4) FOR_EACH_REPLICA(TAKE, 4)
  CHANGE(4)
#endif
  WRITE(0) WRITE(1) WRITE(2)
  CRASH(0) CRASH(1) CRASH(2)
  od
}
