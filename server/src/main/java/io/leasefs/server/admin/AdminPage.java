package io.leasefs.server.admin;

/** A page of the admin port. Called on a virtual thread of its own, several at once. */
public interface AdminPage {
  /**
   * Answers a request; may block, in bounded time.
   *
   * @throws IllegalArgumentException or LeaseFsException for a wrong request: answered by 400 and
   *     the message
   * @throws Exception for anything else: answered by 500, and logged
   */
  AdminAnswer answer(AdminRequest request) throws Exception;
}
