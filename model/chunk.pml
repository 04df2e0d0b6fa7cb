/*
 * One chunk of LeaseFS: mutations through a primary, and changes of its configuration by begin,
 * seal, recover, activate. Untimed: leases, heartbeats and clocks are left out altogether, and a
 * new primary may be activated at any moment, also while the old one still works. What holds here
 * holds whatever any clock does.
 *
 * Messages are facts that stay: once said, a fact may be acted upon at any later time, any number
 * of times, by anybody, or never. That is loss, delay, doubling and reordering all at once.
 *
 * A replica may crash at any moment. What is in its journal stays (the kernel has it), what was
 * only accepted into its queue is lost, and it is no primary any more.
 *
 * Checked: an acknowledged mutation is, at the serial it was acknowledged with, in the start of
 * every version activated before or after (I6); members never differ where something was
 * acknowledged (I5); a mutation has one serial for ever (I9).
 *
 * Broken variants, each of which must fail: -DPROMISE_VOLATILE a crash forgets the promise;
 * -DNO_READ a version starts without its members taking over the seed's history;
 * -DNO_BARRIER a seal neither waits for appends accepted before it nor counts them, and
 * acknowledgements do not look at the promise as they leave; -DNO_FENCE a secondary appends what
 * is stamped below its promise; -DQUORUM an acknowledgement takes two members of three;
 * -DANY_SEED a recovery may start from a replica that is no member.
 */

#define N 3              /* replicas */
#ifndef V
#define V 3              /* versions, from 1 */
#endif
#ifndef S
#define S 2              /* serials */
#endif
#define M 2              /* mutations; clients send each as often as they like */
#ifndef CRASHES
#define CRASHES 1
#endif

#define AT(v, s) ((v) * S + (s))
#define BIT(r) (1 << (r))
#define HAS(set, r) (((set) >> (r)) & 1)
#define SIZE(set) (((set) & 1) + (((set) >> 1) & 1) + (((set) >> 2) & 1))

/* Rules that the broken variants break. */
#ifdef NO_FENCE
#define UNFENCED(r, v) true
#else
#define UNFENCED(r, v) (promised[r] == v)
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
#else
#define MAY_SEED(r, v) (HAS(answered[v], r) && HAS(cfg[current], r))
#define SEED_READY(r, v) (promised[r] == v)
#endif

#define LEADER_READY(v) (leads[v] && accepted[primary[v] - 1] == v)

/* durable at each replica */
byte promised[N];
byte accepted[N];
byte held[N];
byte content[9];         /* N * S with room: mutation at replica r, serial s is r * S + s */

/* volatile at each replica: one append accepted and not yet in the journal */
byte queued[N];

/* the master's log */
byte last = 1;           /* version allocated last */
byte current = 1;
byte base[V + 1];        /* version that was current at Begin */
byte cfg[V + 1];         /* members, or targets until activated */
byte seed[V + 1];        /* replica + 1 */
byte primary[V + 1];     /* replica + 1 */

/* facts on the network */
byte forwarded[(V + 1) * S];
byte acks[(V + 1) * S];  /* set of replicas */
byte answered[V + 1];    /* set of replicas that have told what they have */
byte startLen[V + 1];
byte start[(V + 1) * S];
byte started[V + 1];     /* set of replicas at which the version start is durable */

/* volatile: a primary that has not crashed since it was made one */
bool leads[V + 1];

/* what clients know */
byte ackedSerial[M + 1]; /* serial + 1 */

byte crashes;
hidden byte i, j, r, v, m, set; /* scratch, used only inside one atomic step */

inline choose(x, from, to) {
  x = from;
  do
  :: x < to -> x++
  :: break
  od
}

/* position of mutation m in replica r's journal or queue, S if it is not there */
inline find(pos) {
  pos = 0;
  do
  :: pos < held[r] && content[r * S + pos] != m -> pos++
  :: else -> break
  od;
  if
  :: pos == held[r] && queued[r] != m -> pos = S
  :: else
  fi
}

inline acknowledge(ver, ser, mut) {
  assert(ackedSerial[mut] == 0 || ackedSerial[mut] == ser + 1); /* I9 */
  ackedSerial[mut] = ser + 1;
  j = 0;
  do
  :: j < N ->
     if
     :: HAS(cfg[ver], j) && current == ver && accepted[j] == ver && held[j] > ser ->
        assert(content[j * S + ser] == mut) /* I5 */
     :: else
     fi;
     j++
  :: else -> break
  od;
  j = ver + 1;
  do
  :: j <= current ->
     if
     :: primary[j] != 0 -> assert(startLen[j] > ser && start[AT(j, ser)] == mut) /* I6 */
     :: else
     fi;
     j++
  :: else -> break
  od
}

init {
  d_step {
    base[1] = 0; cfg[1] = 7; seed[1] = 1; primary[1] = 1; started[1] = 7; leads[1] = true;
    promised[0] = 1; promised[1] = 1; promised[2] = 1;
    accepted[0] = 1; accepted[1] = 1; accepted[2] = 1
  }
  do
  /* a client's mutation reaches a primary, old or new */
  :: atomic {
       choose(v, 1, V); choose(m, 1, M);
       if
       :: LEADER_READY(v) ->
          r = primary[v] - 1;
          find(i);
          if
          :: i == S && promised[r] == v && queued[r] == 0 && held[r] < S ->
             queued[r] = m; forwarded[AT(v, held[r])] = m
          :: else
          fi
       :: else
       fi
     }

  /* a secondary takes the next forwarded mutation */
  :: atomic {
       choose(v, 1, V); choose(r, 0, N - 1);
       if
       :: HAS(cfg[v], r) && primary[v] != r + 1 && accepted[r] == v && UNFENCED(r, v) ->
          if
          :: queued[r] == 0 && held[r] < S && forwarded[AT(v, held[r])] != 0 ->
             queued[r] = forwarded[AT(v, held[r])]
          :: else
          fi
       :: else
       fi
     }

  /* the queue's append reaches the journal */
  :: atomic {
       choose(r, 0, N - 1);
       if
       :: queued[r] != 0 -> content[r * S + held[r]] = queued[r]; held[r]++; queued[r] = 0
       :: else
       fi
     }

  /* a member acknowledges what it has */
  :: atomic {
       choose(v, 1, V); choose(r, 0, N - 1); choose(i, 0, S - 1);
       if
       :: HAS(cfg[v], r) && accepted[r] == v && held[r] > i && MAY_ACKNOWLEDGE(r, v) ->
          if
          :: forwarded[AT(v, i)] != 0 -> acks[AT(v, i)] = acks[AT(v, i)] | BIT(r)
          :: else
          fi
       :: else
       fi
     }

  /* the primary answers the client */
  :: atomic {
       choose(v, 1, V); choose(i, 0, S - 1);
       if
       :: LEADER_READY(v) && MAY_ACKNOWLEDGE(primary[v] - 1, v) && forwarded[AT(v, i)] != 0 ->
          if
          :: ENOUGH(v, i) -> acknowledge(v, i, forwarded[AT(v, i)])
          :: else
          fi
       :: else
       fi
     }

  /* the same for what the version started with: activation committed it */
  :: atomic {
       choose(v, 2, V); choose(i, 0, S - 1);
       if
       :: LEADER_READY(v) && i < startLen[v] && MAY_ACKNOWLEDGE(primary[v] - 1, v) ->
          acknowledge(v, i, start[AT(v, i)])
       :: else
       fi
     }

  /* begin */
  :: atomic { last < V -> last++; base[last] = current }

  /* seal: promise, durable; what was accepted before is in the journal first */
  :: atomic {
       choose(v, 2, V); choose(r, 0, N - 1);
       if
       :: v <= last && promised[r] < v && HAS(cfg[base[v]], r) && DRAINED(r) -> promised[r] = v
       :: else
       fi
     }
  :: atomic {
       choose(v, 2, V); choose(r, 0, N - 1);
       if
       :: v <= last && promised[r] == v && accepted[r] < v && HAS(cfg[base[v]], r) ->
          answered[v] = answered[v] | BIT(r)
       :: else
       fi
     }

  /* recover: one seed a version, a member of the active configuration that has promised */
  :: atomic {
       choose(v, 2, V); choose(r, 0, N - 1); choose(set, 3, 7);
       if
       :: v <= last && seed[v] == 0 && base[v] == current && MAY_SEED(r, v) ->
          if
          :: HAS(set, r) && SIZE(set) >= 2 -> seed[v] = r + 1; cfg[v] = set
          :: else
          fi
       :: else
       fi
     }

  /* the seed starts the version with what it has */
  :: atomic {
       choose(v, 2, V);
       if
       :: seed[v] != 0 ->
          r = seed[v] - 1;
          if
          :: accepted[r] < v && SEED_READY(r, v) && DRAINED(r) ->
             startLen[v] = held[r]; i = 0;
             do
             :: i < held[r] -> start[AT(v, i)] = content[r * S + i]; i++
             :: else -> break
             od;
             promised[r] = v; accepted[r] = v; started[v] = started[v] | BIT(r)
          :: else
          fi
       :: else
       fi
     }

  /* a target takes over the seed's history */
  :: atomic {
       choose(v, 2, V); choose(r, 0, N - 1);
       if
       :: seed[v] != 0 && HAS(cfg[v], r) && primary[v] == 0 && accepted[r] < v ->
          if
          :: HAS(started[v], seed[v] - 1) && promised[r] <= v ->
             promised[r] = v; accepted[r] = v; queued[r] = 0; started[v] = started[v] | BIT(r);
#ifndef NO_READ
             held[r] = startLen[v]; i = 0;
             do
             :: i < S ->
                content[r * S + i] = (i < startLen[v] -> start[AT(v, i)] : 0); i++
             :: else -> break
             od
#endif
          :: else
          fi
       :: else
       fi
     }

  /* activate: no gate here, for there are no clocks */
  :: atomic {
       choose(v, 2, V); choose(r, 0, N - 1);
       if
       :: v <= last && primary[v] == 0 && base[v] == current && HAS(started[v], r) ->
          if
          :: SIZE(started[v]) >= 2 ->
             cfg[v] = started[v]; primary[v] = r + 1; leads[v] = true; current = v;
             m = 1;
             do
             :: m <= M ->
                if
                :: ackedSerial[m] != 0 ->
                   assert(startLen[v] >= ackedSerial[m]); /* I6 */
                   assert(start[AT(v, ackedSerial[m] - 1)] == m)
                :: else
                fi;
                m++
             :: else -> break
             od
          :: else
          fi
       :: else
       fi
     }

  /* crash */
  :: atomic {
       crashes < CRASHES -> choose(r, 0, N - 1); crashes++; queued[r] = 0;
       i = 1;
       do
       :: i <= V ->
          if
          :: primary[i] == r + 1 -> leads[i] = false
          :: else
          fi;
          i++
       :: else -> break
       od;
#ifdef PROMISE_VOLATILE
       promised[r] = accepted[r]
#endif
     }
  od
}
