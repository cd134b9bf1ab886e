#if Messaging
  /// The place of a message among those of an installation in a conversation: this project's own extension. Servers
  /// and archives keep it, as they keep unknown elements.
  package struct OrderMark: XMPPExtension {
    /// 128 bits, drawn for each installation and conversation.
    package var stream: OrderStreamID
    /// Counts the stream's messages, from 1.
    package var number: UInt64

    package init(stream: OrderStreamID, number: UInt64) {
      self.stream = stream
      self.number = number
    }

    package init?(_ element: XMLElement) {
      guard element.has("order", Namespace.order),
        let stream = element["stream"].flatMap({ OrderStreamID($0) }),
        let number = element["n"].flatMap({ UInt64($0) }), number > 0, number <= Self.numberMax
      else { return nil }
      self.init(stream: stream, number: number)
    }

    /// The highest number: an integer of SQLite.
    package static let numberMax = UInt64(Int64.max)

    package var element: XMLElement {
      XMLElement("order", Namespace.order, ["stream": stream.description, "n": "\(number)"])
    }
  }

  /// A request to send messages of a stream again, to the bare address of its sender.
  package struct MissingRequest: XMPPExtension {
    package var stream: OrderStreamID
    package var numbers: ClosedRange<UInt64>

    package init(stream: OrderStreamID, numbers: ClosedRange<UInt64>) {
      self.stream = stream
      self.numbers = numbers
    }

    package init?(_ element: XMLElement) {
      guard element.has("missing", Namespace.order),
        let stream = element["stream"].flatMap({ OrderStreamID($0) }),
        let first = element["first"].flatMap({ UInt64($0) }),
        let last = element["last"].flatMap({ UInt64($0) }),
        first > 0, first <= last, last <= OrderMark.numberMax
      else { return nil }
      self.init(stream: stream, numbers: first...last)
    }

    package var element: XMLElement {
      XMLElement(
        "missing", Namespace.order,
        [
          "stream": stream.description, "first": "\(numbers.lowerBound)",
          "last": "\(numbers.upperBound)",
        ])
    }
  }

  /// The identifier of a stream of messages: 32 digits of hexadecimal in lower case.
  package struct OrderStreamID: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
      self.high = high
      self.low = low
    }

    /// Nil unless the text is written as ``description`` writes it, so that each stream has one spelling.
    package init?(_ text: String) {
      let digits = Array(text.utf8)
      guard digits.count == 32 else { return nil }
      (high, low) = (0, 0)
      for digit in digits {
        let value: UInt8
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
        default: return nil
        }
        high = high << 4 | low >> 60
        low = low << 4 | UInt64(value)
      }
    }
  }

  extension OrderStreamID: CustomStringConvertible {
    package var description: String {
      var digits: [UInt8] = []
      digits.reserveCapacity(32)
      for place in 0..<32 {
        let half = place < 16 ? high : low
        let digit = UInt8(truncatingIfNeeded: half >> UInt64(60 - 4 * (place & 15)) & 15)
        digits.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
      }
      return String(decoding: digits, as: UTF8.self)
    }
  }
#endif
