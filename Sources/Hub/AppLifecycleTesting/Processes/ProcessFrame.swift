import AppMachines
import AppSessions
import Foundation
import InfoPlists

/// A piece of the connection between a phone and a process of an app: a length of four bytes, least significant one
/// first, a kind and contents.
struct ProcessFrame: Sendable {
  enum Kind: UInt8, Sendable {
    /// Bytes of the phone's hub, or for it.
    case hub = 1
    /// What an app has written to its standard output and error.
    case output = 2
    /// The virtual time, from the phone.
    case time = 3
    /// A number: report it when everything before was handled. The process's answer is the same.
    case settle = 4
    /// A `PhoneMessage` or `ProcessMessage` in JSON.
    case message = 5
  }

  /// The maximum length of the contents.
  static let byteCountMax = 1 << 24
  static let headByteCount = 5

  var kind: Kind
  var contents: [UInt8]

  init(_ kind: Kind, _ contents: [UInt8]) {
    self.kind = kind
    self.contents = contents
  }

  /// A time or a number.
  init(_ kind: Kind, _ number: UInt64) { self.init(kind, Self.bytes(of: number, count: 8)) }

  /// A message in JSON.
  init(_ message: some Encodable) {
    let encoder = JSONEncoder()
    // Times of apps may be endless.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    guard let data = try? encoder.encode(message) else {
      preconditionFailure("a message of a simulated phone can't be encoded")
    }
    self.init(.message, Array(data))
  }

  /// Its number; nil if it has none.
  var number: UInt64? {
    contents.count == 8 ? contents.reversed().reduce(0) { $0 << 8 | UInt64($1) } : nil
  }

  /// Its message.
  func message<Message: Decodable>(_: Message.Type) throws(ProcessFrameError) -> Message {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    do { return try decoder.decode(Message.self, from: Data(contents)) } catch {
      throw .malformed
    }
  }

  var bytes: [UInt8] {
    Self.bytes(of: UInt64(contents.count), count: 4) + [kind.rawValue] + contents
  }

  private static func bytes(of number: UInt64, count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) }
  }
}

/// Why the bytes of a process are no frames.
enum ProcessFrameError: Error {
  case malformed
  case tooLong
}

/// Reads frames from bytes as they come.
struct ProcessFrameReader {
  private var bytes: [UInt8] = []

  mutating func append(_ new: some Sequence<UInt8>) { bytes.append(contentsOf: new) }

  /// Nil until a whole frame has come.
  mutating func next() throws(ProcessFrameError) -> ProcessFrame? {
    guard bytes.count >= ProcessFrame.headByteCount else { return nil }
    let length = bytes.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    guard length <= ProcessFrame.byteCountMax else { throw .tooLong }
    guard let kind = ProcessFrame.Kind(rawValue: bytes[4]) else { throw .malformed }
    let end = ProcessFrame.headByteCount + length
    guard bytes.count >= end else { return nil }
    defer { bytes.removeFirst(end) }
    return ProcessFrame(kind, Array(bytes[ProcessFrame.headByteCount..<end]))
  }
}

/// A message of a phone to a process of an app.
enum PhoneMessage: Codable, Sendable {
  /// The first one.
  case begin(ProcessBeginning)
  case instruct(AppInstruction)
  /// The answer to the request with this number.
  case answer(UInt64, PhoneAnswer)
}

/// What a process needs to know of its app.
struct ProcessBeginning: Codable, Sendable {
  var identifier: String
  var infoPlist: InfoPlist
  var code: AppCodeAddress
}

enum PhoneAnswer: Codable, Sendable {
  case done
  case reply(AppReply)
  /// Nanoseconds; nil in the foreground.
  case timeRemaining(Int64?)
}

/// A message of a process of an app to its phone.
enum ProcessMessage: Codable, Sendable {
  /// It has connected to the hub, or ended that.
  case connected, disconnected
  case report(AppMachine.ProcessEvent)
  case request(UInt64, AppRequest)
  case beginBackgroundTask(UInt64, AppTaskID)
  case timeRemaining(UInt64)
  /// It calls a callback with this name.
  case called(String)
  /// Its hub could not do something; a sentence.
  case failed(String)
  /// It is to be woken at this time, in nanoseconds; nil for never.
  case wake(Int64?)
}
