import Binding
import Foundation
import Reactive

/// One view of the conversations, a tab of the page or the terminal: the view model. It knows no view and no server.
final class Messenger: ViewModel {
  private let messages: Messages
  let account: Property<String>
  /// The conversations, the one with the latest message first.
  let list: Property<[Conversations.Row]>
  /// The address of the conversation that is shown; empty for none. Part of the page's address.
  let with = MutableProperty("")
  let isOpen: Property<Bool>
  let isClosed: Property<Bool>
  let bubbles: Property<[Bubble]>
  /// What the other one does.
  let hint: Property<String>
  /// Why there is no connection.
  let offline: Property<String?>

  let draft = MutableProperty("")
  let files = Upload(byteCountMax: 50_000_000, countMax: 8)
  /// Sends the text and the files that have come.
  let send: Action<Void, Never, SendError>
  /// The typed address of another account.
  let address = MutableProperty("")
  let begin: Action<Void, Never, SendError>
  let open: Action<String, Never, Never>
  let close: Action<Void, Never, Never>
  let load: Action<String, Never, Never>

  /// Why something isn't done.
  struct SendError: Error {
    var text: String
  }

  static let bindings: Bindings<Messenger> = [
    "account": .oneWay(\.account),
    "list": .list(
      \.list,
      [
        "peer": .value(\.id), "latest": .value(\.latest), "unread": .value(\.unreadText),
        "isTyping": .value(\.isTyping),
      ]),
    "with": .twoWay(\.with),
    "isOpen": .oneWay(\.isOpen),
    "isClosed": .oneWay(\.isClosed),
    "bubbles": .list(
      \.bubbles,
      [
        "id": .value(\.id), "text": .value(\.text), "time": .value(\.timeText),
        "state": .value(\.stateText),
        "isOwn": .value(\.isOwn), "isNotice": .value(\.isNotice), "hasFailed": .value(\.hasFailed),
        "nickname": .value(\.nickname), "file": .value(\.fileText),
        "picture": .value(\.picture), "thumbnail": .value(\.thumbnail), "sound": .value(\.sound),
        "canLoad": .value(\.canLoad),
        "loading": .value(\.isLoading),
      ]),
    "hint": .oneWay(\.hint),
    "offline": .oneWay(\.offline),
    "draft": .twoWay(\.draft),
    "files": .upload(\.files),
    "send": .action(\.send, error: \.text),
    "address": .twoWay(\.address),
    "begin": .action(\.begin, error: \.text),
    "open": .action(\.open),
    "close": .action(\.close),
    "load": .action(\.load),
  ]

  private var shown: String?
  private var isVisible = false

  /// - Parameter outbox: The folder of files that wait to be sent. They stay there: the account reads them again after a
  ///   crash.
  init(_ messages: Messages, outbox: URL) {
    self.messages = messages
    let (mailbox, conversations) = (messages.mailbox, messages.conversations)
    let (with, draft, files, address) = (with, draft, files, address)
    account = Property(value: mailbox.address)
    list = conversations.map(\.list)
    isOpen = with.map { !$0.isEmpty }
    isClosed = with.map(\.isEmpty)
    bubbles = conversations.combineLatest(with: with).map { $0.bubbles(of: $1) }.skipRepeats()
    hint = conversations.combineLatest(with: with)
      .map { $0.row(of: $1)?.isTyping == true ? "\($1) is writing …" : "" }
    offline = conversations.map(\.offlineReason)
    let hasContent = draft.combineLatest(with: files.files).map { text, files in
      !text.allSatisfy(\.isWhitespace) || files.contains { $0.path != nil }
    }
    let isReady = hasContent.and(isOpen).and(files.isReceiving.negate())
    send = Action(enabledIf: isReady) {
      .task {
        let text = draft.value.trimmingCharacters(in: .whitespacesAndNewlines)
        let paths = try Self.take(files, into: outbox)
        try await messages.send(text, files: paths, to: with.value)
        draft.value = ""
      }
    }
    begin = Action {
      .task {
        guard let peer = mailbox.normalized(address.value) else {
          throw SendError(text: "An address looks like bob@chat.example.")
        }
        address.value = ""
        with.value = peer
      }
    }
    open = Action(onMainActor: { with.value = $0 })
    close = Action(onMainActor: { with.value = "" })
    load = Action(onMainActor: { id in Task { await messages.load(id) } })
    with.signal.observeValues { [weak self] _ in
      // Pages and the terminal set it on the main actor.
      MainActor.assumeIsolated { self?.follow() }
    }
  }

  func appeared() {
    isVisible = true
    follow()
  }

  func disappeared() {
    isVisible = false
    follow()
  }

  /// Messages are read while a view shows them.
  private func follow() {
    let peer = isVisible ? messages.mailbox.normalized(with.value) : nil
    guard peer != shown else { return }
    if let shown { messages.hide(shown) }
    shown = peer
    if let peer { messages.show(peer) }
  }

  /// Moves the files that have come into a folder, in which they stay, and returns their paths.
  private static func take(_ upload: Upload, into folder: URL) throws -> [String] {
    var paths: [String] = []
    for file in upload.files.value {
      guard let path = file.path else { continue }
      // The name is its user's, and may be anything but a path. A folder of its own keeps it as it is.
      let place = folder.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      let name = file.name.split(separator: "/").last.map(String.init) ?? "file"
      let target = place.appending(path: String(name.drop { $0 == "." }.suffix(80)))
      try FileManager.default.moveItem(at: URL(filePath: path), to: target)
      upload.remove(file.id)
      paths.append(target.path)
    }
    return paths
  }
}

extension SignalProducer where Value == Never, Error == Messenger.SendError {
  /// A producer that does something on the main actor, and completes or fails when it is done.
  fileprivate static func task(_ body: @escaping @MainActor @Sendable () async throws -> Void)
    -> Self
  {
    Self { observer, lifetime in
      let task = Task { @MainActor in
        do {
          try await body()
          observer.sendCompleted()
        } catch let error as Messenger.SendError {
          observer.send(error: error)
        } catch {
          observer.send(error: Messenger.SendError(text: "\(error)"))
        }
      }
      lifetime.observeEnded { task.cancel() }
    }
  }
}

extension Conversations.Row {
  var unreadText: String? { unreadCount > 0 ? "\(unreadCount)" : nil }
}

extension Bubble {
  /// As `14:05`, in the time zone of this machine.
  var timeText: String {
    let style = Date.VerbatimFormatStyle(
      format:
        "\(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits)",
      timeZone: .current, calendar: Calendar(identifier: .gregorian))
    return Date(timeIntervalSince1970: Double(time) / 1_000).formatted(style)
  }

  var stateText: String? { state?.text }
  var hasFailed: Bool { if case .failed = state { true } else { false } }

  /// The name of a file, unless the page shows its content.
  var fileText: String? {
    guard let file else { return nil }
    switch file.place {
    case .here(let path): return file.kind == .other ? "\(file.label) (\(path))" : nil
    case .failed(let reason): return "\(file.label): \(reason)"
    case .remote, .loading: return file.label
    }
  }

  var picture: String? { shownFile(.picture) }

  /// A small picture until the large one is here.
  var thumbnail: String? {
    guard picture == nil, file?.thumbnail != nil else { return nil }
    return "thumbnails/\(id)"
  }

  var sound: String? { shownFile(.sound) }
  var isLoading: Bool { file?.place == .loading }

  var canLoad: Bool {
    switch file?.place {
    case .remote, .failed: true
    case .loading, .here, nil: false
    }
  }

  private func shownFile(_ kind: File.Kind) -> String? {
    guard let file, file.kind == kind, case .here = file.place else { return nil }
    return "files/\(id)"
  }
}
