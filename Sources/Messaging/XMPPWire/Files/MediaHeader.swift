#if Messaging
  /// Dimensions of a picture or the duration of a recording, read from parts of its file.
  ///
  /// Reads PNG, GIF and JPEG, Ogg Opus (RFC 7845) and ISO base media files such as m4a (ISO/IEC 14496-12, `mvhd`). Give it
  /// the part that ``request`` names until that is nil. Parts are small, and their number is bounded.
  package struct MediaHeader: Sendable {
    /// A part of the file: at most `count` bytes, fewer at its end only.
    package struct Part: Hashable, Sendable {
      package var offset: Int64
      package var count: Int
    }

    private enum Step: Sendable {
      case beginning
      case segment
      case box(end: Int64)
      case movie(end: Int64)
      case lastPage(serial: UInt32, skip: Int64)
    }

    private static let stepMax = 64
    private static let headCount = 64
    private static let segmentCount = 16
    private static let boxCount = 48
    /// A page of Ogg has 65,307 bytes at most (RFC 3533, §6).
    private static let tailCount = 65_536

    private let byteCount: Int64
    private var step = Step.beginning
    private var stepCount = 0
    package private(set) var request: Part?
    /// In pixels.
    package private(set) var width: Int?
    package private(set) var height: Int?
    /// In milliseconds.
    package private(set) var duration: Int64?

    /// - Parameter byteCount: The size of the file.
    package init(byteCount: Int64) {
      self.byteCount = byteCount
      ask(at: 0, Self.headCount)
    }

    private mutating func ask(at offset: Int64, _ count: Int) {
      stepCount += 1
      guard stepCount <= Self.stepMax, offset >= 0, offset < byteCount else {
        request = nil
        return
      }
      request = Part(offset: offset, count: count)
    }

    /// Takes the bytes of the part that was requested.
    package mutating func take(_ bytes: [UInt8]) {
      guard let part = request else { return }
      request = nil
      let reader = Fields(bytes: bytes)
      switch step {
      case .beginning: begin(reader)
      case .segment: takeSegment(reader, at: part.offset)
      case .box(let end): takeBox(reader, at: part.offset, end: end)
      case .movie(let end): takeMovie(reader, at: part.offset, end: end)
      case .lastPage(let serial, let skip): takeLastPage(bytes, serial, skip: skip)
      }
    }

    private mutating func begin(_ head: Fields) {
      if head.has([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], at: 0),
        head.has(Array("IHDR".utf8), at: 12)
      {
        setSize(head.bigEndian(4, at: 16), head.bigEndian(4, at: 20))
      } else if head.has(Array("GIF8".utf8), at: 0) {
        setSize(head.littleEndian(2, at: 6), head.littleEndian(2, at: 8))
      } else if head.has([0xFF, 0xD8, 0xFF], at: 0) {
        step = .segment
        ask(at: 2, Self.segmentCount)
      } else if head.has(Array("ftyp".utf8), at: 4) {
        step = .box(end: byteCount)
        ask(at: 0, Self.boxCount)
      } else if head.has(Array("OggS".utf8), at: 0), let segments = head.byte(at: 26) {
        let packet = 27 + Int(segments)
        guard head.has(Array("OpusHead".utf8), at: packet),
          let skip = head.littleEndian(2, at: packet + 10),
          let serial = head.littleEndian(4, at: 14)
        else { return }
        step = .lastPage(serial: UInt32(truncatingIfNeeded: serial), skip: Int64(skip))
        ask(at: max(0, byteCount - Int64(Self.tailCount)), Self.tailCount)
      }
    }

    private mutating func setSize(_ width: UInt64?, _ height: UInt64?) {
      guard let width, let height, (1...1 << 20).contains(width), (1...1 << 20).contains(height)
      else { return }
      (self.width, self.height) = (Int(width), Int(height))
    }

    /// A segment of JPEG (ITU-T T.81, §B.1): a marker, its length, and for a frame its size.
    private mutating func takeSegment(_ segment: Fields, at offset: Int64) {
      guard segment.byte(at: 0) == 0xFF, let marker = segment.byte(at: 1) else { return }
      switch marker {
      case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
        setSize(segment.bigEndian(2, at: 7), segment.bigEndian(2, at: 5))
      // The picture begins, or ends.
      case 0xDA, 0xD9: return
      case 0xFF: ask(at: offset + 1, Self.segmentCount)
      default:
        guard let length = segment.bigEndian(2, at: 2), length >= 2 else { return }
        ask(at: offset + 2 + Int64(length), Self.segmentCount)
      }
    }

    /// The kind of a box, and where its content begins and ends; nil if it is malformed.
    private static func box(
      _ fields: Fields, at offset: Int64, end: Int64
    ) -> (kind: UInt64, content: Int, end: Int64)? {
      guard let short = fields.bigEndian(4, at: 0), let kind = fields.bigEndian(4, at: 4) else {
        return nil
      }
      switch short {
      case 0: return (kind, 8, end)
      case 1:
        guard let long = fields.bigEndian(8, at: 8), long >= 16, long <= UInt64(end - offset) else {
          return nil
        }
        return (kind, 16, offset + Int64(long))
      default:
        guard short >= 8, short <= UInt64(end - offset) else { return nil }
        return (kind, 8, offset + Int64(short))
      }
    }

    private mutating func takeBox(_ fields: Fields, at offset: Int64, end: Int64) {
      guard let box = Self.box(fields, at: offset, end: end) else { return }
      if box.kind == Fields.code("moov") {
        step = .movie(end: box.end)
        ask(at: offset + Int64(box.content), Self.boxCount)
      } else {
        ask(at: box.end, Self.boxCount)
      }
    }

    private mutating func takeMovie(_ fields: Fields, at offset: Int64, end: Int64) {
      guard offset < end, let box = Self.box(fields, at: offset, end: end) else { return }
      guard box.kind == Fields.code("mvhd") else { return ask(at: box.end, Self.boxCount) }
      let content = box.content
      let isLong = fields.byte(at: content) == 1
      guard let scale = fields.bigEndian(4, at: content + (isLong ? 20 : 12)),
        let units = fields.bigEndian(isLong ? 8 : 4, at: content + (isLong ? 24 : 16))
      else { return }
      setDuration(units, per: scale)
    }

    private mutating func setDuration(_ units: UInt64, per second: UInt64) {
      // All bits are set where the duration is not known.
      guard second > 0, units < 1 << 48, units != 0xFFFF_FFFF else { return }
      duration = Int64(units * 1_000 / second)
    }

    /// The last page of the stream has the number of its last sample (RFC 7845, §4).
    private mutating func takeLastPage(_ bytes: [UInt8], _ serial: UInt32, skip: Int64) {
      let tail = Fields(bytes: bytes)
      let capture = Array("OggS".utf8)
      var place = bytes.count - 27
      while place >= 0 {
        defer { place -= 1 }
        guard tail.has(capture, at: place),
          tail.littleEndian(4, at: place + 14) == UInt64(serial),
          let samples = tail.littleEndian(8, at: place + 6), samples < 1 << 62
        else { continue }
        setDuration(UInt64(max(0, Int64(samples) - skip)), per: 48_000)
        return
      }
    }
  }

  /// Numbers at places of a part of a file.
  private struct Fields {
    var bytes: [UInt8]

    static func code(_ text: String) -> UInt64 { text.utf8.reduce(0) { $0 << 8 | UInt64($1) } }

    func byte(at place: Int) -> UInt8? {
      bytes.indices.contains(place) ? bytes[place] : nil
    }

    func has(_ expected: [UInt8], at place: Int) -> Bool {
      place >= 0 && bytes.dropFirst(place).starts(with: expected)
    }

    func bigEndian(_ count: Int, at place: Int) -> UInt64? {
      guard place >= 0, place + count <= bytes.count else { return nil }
      return bytes[place..<place + count].reduce(0) { $0 << 8 | UInt64($1) }
    }

    func littleEndian(_ count: Int, at place: Int) -> UInt64? {
      guard place >= 0, place + count <= bytes.count else { return nil }
      return bytes[place..<place + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
  }
#endif
