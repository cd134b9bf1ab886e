/// The account behind the app. The demonstration and the tests have others than the one on XMPP.
protocol Mailbox: Sendable {
  /// The account's address.
  var address: String { get }

  /// Connects, and hands over what happens, one after the other, until the task is cancelled.
  ///
  /// A message counts as taken when `take` returns: before that, it is handed over again after a crash.
  func run(_ take: @escaping @Sendable (MailboxEvent) async -> Void) async

  /// The addresses of known accounts: contacts, and those with which there are messages.
  func peers() async throws -> [String]
  /// The latest messages with an account, the oldest first.
  func history(with peer: String) async throws -> [Bubble]
  /// Stores a text, which is then sent, also by a later process.
  func send(_ text: String, to peer: String) async throws -> Bubble
  /// The same for a file, which has to stay where it is.
  func send(file path: String, to peer: String) async throws -> Bubble
  /// Loads the file of a message, and returns its path.
  func load(_ bubble: Bubble) async throws -> String
  /// Shows the sender that a message was displayed.
  func markDisplayed(_ bubble: Bubble) async
  /// The form in which an address is used; nil for other texts.
  func normalized(_ address: String) -> String?
}

/// What happens to an account.
enum MailboxEvent: Equatable, Sendable {
  /// The reason why there is no connection; nil while there is one.
  case connection(String?)
  case received(Bubble)
  case state(Bubble.Key, Bubble.State)
  /// A file is at the service, and its message has this number from now on.
  case uploaded(Bubble.Key, as: Bubble.Key)
  /// A file that may be loaded without a question is here.
  case loaded(Bubble.Key, path: String)
  case typing(String, Bool)
}
