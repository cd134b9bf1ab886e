/// A message, as a conversation shows it: the model. It knows no page and no server.
struct Bubble: Identifiable, Equatable, Sendable {
  /// What a bubble shows, with its number in the store.
  enum Key: Hashable, Sendable {
    /// An entry of the inbox.
    case received(Int64)
    /// A message that was sent from here.
    case sent(Int64)
    /// A file that is still to be uploaded.
    case upload(Int64)

    var text: String {
      switch self {
      case .received(let row): "received-\(row)"
      case .sent(let number): "sent-\(number)"
      case .upload(let number): "upload-\(number)"
      }
    }
  }

  /// How far a sent message has come.
  enum State: Equatable, Sendable {
    case waiting(String?)
    case uploading(Double)
    case atServer
    case received
    case displayed
    case failed(String)

    /// How far that is. A late receipt replaces a failure.
    var rank: Int {
      switch self {
      case .waiting, .uploading: 0
      case .atServer: 1
      case .failed: 2
      case .received: 3
      case .displayed: 4
      }
    }

    /// As people read it.
    var text: String {
      switch self {
      case .waiting(let reason): reason.map { "waits: \($0)" } ?? "waits for a connection"
      case .uploading(let part): "\(Int(part * 100)) % sent"
      case .atServer: "sent"
      case .received: "received"
      case .displayed: "read"
      case .failed(let reason): "not sent: \(reason)"
      }
    }
  }

  let key: Key
  /// The address of the other account.
  var peer: String
  /// Whether it is this account's.
  var isOwn: Bool
  /// A line of the app about the conversation, such as missing messages, instead of a message.
  var isNotice = false
  var text: String
  /// The sender's nickname in a room.
  var nickname: String?
  /// Milliseconds since 1970.
  var time: Int64
  /// Of a sent message.
  var state: State?
  var file: File?

  var id: String { key.text }
}

/// A file of a message.
struct File: Equatable, Sendable {
  /// What the page does with a file.
  enum Kind: Equatable, Sendable { case picture, sound, other }

  /// Whether the file is on this machine.
  enum Place: Equatable, Sendable {
    /// It is loaded when its user requests it: a download shows the sender that the account is in use.
    case remote
    case loading
    case here(path: String)
    case failed(String)
  }

  var name: String
  var mediaType: String?
  var byteCount: Int64?
  /// Of a recording, in milliseconds.
  var duration: Int64?
  /// A small picture that came with the message.
  var thumbnail: [UInt8]?
  var place = Place.remote

  var kind: Kind {
    guard let mediaType else { return .other }
    if mediaType.hasPrefix("image/") { return .picture }
    return mediaType.hasPrefix("audio/") ? .sound : .other
  }

  /// The name with size and duration.
  var label: String {
    let seconds = duration.map { $0 / 1_000 }
    let time = seconds.map { "\($0 / 60):\($0 % 60 < 10 ? "0" : "")\($0 % 60)" }
    let size = byteCount.map { $0 < 10_000 ? "\($0) bytes" : "\($0 / 1_000) kB" }
    return [name, size, time].compactMap(\.self).joined(separator: ", ")
  }
}

extension File {
  /// The media type by the first bytes, if browsers show it: nothing that a peer has sent may be a page or a script.
  static func shownType(of bytes: some Collection<UInt8>) -> String? {
    let start = Array(bytes.prefix(12))
    func has(_ text: String, at place: Int = 0) -> Bool {
      start.dropFirst(place).starts(with: Array(text.utf8))
    }
    if start.starts(with: [0x89]), has("PNG", at: 1) { return "image/png" }
    if start.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
    if has("GIF8") { return "image/gif" }
    if has("RIFF"), has("WEBP", at: 8) { return "image/webp" }
    if has("RIFF"), has("WAVE", at: 8) { return "audio/wav" }
    if has("OggS") { return "audio/ogg" }
    if has("ftypM4A", at: 4) { return "audio/mp4" }
    return nil
  }
}
