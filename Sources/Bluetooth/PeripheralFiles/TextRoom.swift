import Essentials
import JSONWire

/// The room that is left within a file's limits, while its contents are chosen. The sizes are upper
/// bounds of those in `PeripheralFile.json`, with its indentation and separators.
struct TextRoom {
  /// What a piece of a file takes.
  struct Size: Hashable, Sendable {
    /// Bytes of JSON.
    var byteCount: Int
    /// Values of JSON.
    var nodeCount: Int

    /// Bytes in hexadecimal or as text, with quotes and separators.
    private static func value(_ count: Int) -> Int { 14 + 2 * count }

    static func value(_ value: [UInt8]) -> Size {
      Size(byteCount: 24 + Self.value(value.count), nodeCount: 3)
    }
    static func descriptor(_ value: [UInt8]) -> Size {
      Size(byteCount: 76 + Self.value(value.count), nodeCount: 5)
    }
    static func notification(_ value: [UInt8]) -> Size {
      Size(byteCount: 52 + Self.value(value.count), nodeCount: 4)
    }
    static func answer(written: [UInt8], value: [UInt8]?) -> Size {
      Size(
        byteCount: 192 + Self.value(written.count) + Self.value(value?.count ?? 0),
        nodeCount: 8)
    }
    static func answerNotification(_ value: [UInt8]) -> Size {
      Size(byteCount: 152 + Self.value(value.count), nodeCount: 7)
    }
    static func change(_ data: [UInt8], _ scanResponse: [UInt8]) -> Size {
      Size(byteCount: 72 + 2 * (data.count + scanResponse.count), nodeCount: 4)
    }
    /// The brackets of a list and its key.
    static let list = Size(byteCount: 64, nodeCount: 1)
  }

  private var byteCount: Int
  private var nodeCount: Int

  /// All of a file.
  init() {
    byteCount = PeripheralFile.Limits.byteCount
    nodeCount = JSONParser.nodeCountMax
  }

  /// Takes some of the room; false where there is not enough.
  mutating func take(_ size: Size) -> Bool {
    guard size.byteCount <= byteCount, size.nodeCount <= nodeCount else { return false }
    byteCount -= size.byteCount
    nodeCount -= size.nodeCount
    return true
  }
}

extension PeripheralFile {
  private typealias Size = TextRoom.Size

  /// Takes out what makes the text longer than a file may be. What the device is comes before what
  /// it did, and what it did first before what came later.
  /// - Returns: How much was taken out.
  mutating func fitIntoText() -> Int {
    var room = TextRoom()
    // At most 64 services with 64 characteristics each: two megabytes.
    let bare = bare
    let lists = bare.characteristicIndices.count
    _ = room.take(
      Size(
        byteCount: bare.json.utf8.count + (3 * lists + 1) * Size.list.byteCount,
        nodeCount: 128 + 80 * bare.services.count + 24 * lists))
    return fitDatabase(&room) + fitAdvertising(&room) + fitAnswers(&room)
      + fitNotifications(&room)
  }

  /// The file without the lists that may be long.
  private var bare: PeripheralFile {
    var file = self
    file.advertising?.changes = []
    for index in characteristicIndices {
      file[index].values = []
      file[index].descriptors = []
      file[index].notifications = []
      file[index].answers = []
    }
    return file
  }

  private mutating func fitDatabase(_ room: inout TextRoom) -> Int {
    var dropped = 0
    for index in characteristicIndices {
      let values = self[index].values.filter { room.take(.value($0)) }
      dropped += self[index].values.count - values.count
      self[index].values = values
    }
    for index in characteristicIndices {
      let descriptors = self[index].descriptors.filter { room.take(.descriptor($0.value)) }
      dropped += self[index].descriptors.count - descriptors.count
      self[index].descriptors = descriptors
    }
    return dropped
  }

  private mutating func fitAdvertising(_ room: inout TextRoom) -> Int {
    guard let changes = advertising?.changes else { return 0 }
    let fitting = changes.prefix { room.take(.change($0.data, $0.scanResponse)) }
    advertising?.changes = Array(fitting)
    return changes.count - fitting.count
  }

  private mutating func fitAnswers(_ room: inout TextRoom) -> Int {
    var dropped = 0
    for index in characteristicIndices where !self[index].answers.isEmpty {
      let answers = self[index].answers
      self[index].answers = []
      for var answer in answers {
        guard room.take(.answer(written: answer.written, value: answer.value)) else {
          dropped += 1 + answer.notifications.count
          continue
        }
        let fitting = answer.notifications.prefix { room.take(.answerNotification($0.value)) }
        dropped += answer.notifications.count - fitting.count
        answer.notifications = Array(fitting)
        self[index].answers.append(answer)
      }
    }
    return dropped
  }

  /// Cuts all characteristics at one time, as if the recording had been shorter.
  private mutating func fitNotifications(_ room: inout TextRoom) -> Int {
    var all: [(time: TimeSpan, index: CharacteristicIndex, number: Int)] = []
    for index in characteristicIndices {
      for (number, notification) in self[index].notifications.enumerated() {
        all.append((notification.time, index, number))
      }
    }
    all.sort { ($0.time, $0.index, $0.number) < ($1.time, $1.index, $1.number) }
    let fitting = all.prefix {
      room.take(.notification(self[$0.index].notifications[$0.number].value))
    }
    guard fitting.count < all.count else { return 0 }
    var counts: [CharacteristicIndex: Int] = [:]
    for event in fitting { counts[event.index, default: 0] += 1 }
    for index in characteristicIndices {
      self[index].notifications = Array(self[index].notifications.prefix(counts[index] ?? 0))
    }
    return all.count - fitting.count
  }
}
