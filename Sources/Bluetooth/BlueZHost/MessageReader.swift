#if BlueZ
  import BlueZMachines
  internal import CSystemd

  /// Reads the arguments of a message. sd-bus has checked that it is well-formed, and bounds its depth and its length.
  @safe
  struct MessageReader {
    private let message: OpaquePointer

    init(_ message: OpaquePointer) { unsafe self.message = message }

    /// All arguments; nil if one can't be read.
    func arguments() -> [BusValue]? {
      var values: [BusValue] = []
      while let next = peek() {
        guard let value = value(next.type, next.contents) else { return nil }
        values.append(value)
      }
      return values
    }

    /// The type of the next value, and of what it contains; nil at the end of a container or of the message.
    private func peek() -> (type: UInt8, contents: String)? {
      var type: CChar = 0
      var contents: UnsafePointer<CChar>?
      guard unsafe sd_bus_message_peek_type(message, &type, &contents) > 0 else { return nil }
      return (UInt8(bitPattern: type), unsafe MessageBus.text(contents) ?? "")
    }

    private func value() -> BusValue? {
      peek().flatMap { value($0.type, $0.contents) }
    }

    private func value(_ type: UInt8, _ contents: String) -> BusValue? {
      switch type {
      case UInt8(ascii: "b"): basic(type, Int32(0)).map { .boolean($0 != 0) }
      case UInt8(ascii: "y"): basic(type, UInt8(0)).map { .byte($0) }
      case UInt8(ascii: "n"): basic(type, Int16(0)).map { .int16($0) }
      case UInt8(ascii: "q"): basic(type, UInt16(0)).map { .uint16($0) }
      case UInt8(ascii: "u"): basic(type, UInt32(0)).map { .uint32($0) }
      case UInt8(ascii: "s"), UInt8(ascii: "g"): text(type).map { .string($0) }
      case UInt8(ascii: "o"): text(type).map { .path($0) }
      case UInt8(ascii: "v"): container(type, contents) { value() } ?? nil
      case UInt8(ascii: "a"): array(contents)
      default: skip()
      }
    }

    private func array(_ contents: String) -> BusValue? {
      switch contents {
      case "y": bytes()
      case "s": texts(contents).map { .strings($0) }
      case "o": texts(contents).map { .paths($0) }
      case "{sv}": dictionary(contents, key: { text("s") }, value).map { .properties($0) }
      case "{qv}":
        dictionary(contents, key: { basic(UInt8(ascii: "q"), UInt16(0)) }, value)
          .map { .numbered($0) }
      case "{sa{sv}}": interfaces().map { .interfaces($0) }
      case "{oa{sa{sv}}}":
        dictionary(contents, key: { text("o") }, interfaces).map { .objects($0) }
      default: skip()
      }
    }

    private func interfaces() -> [String: [String: BusValue]]? {
      dictionary("{sa{sv}}", key: { text("s") }) {
        dictionary("{sv}", key: { text("s") }, value)
      }
    }

    private func skip() -> BusValue? {
      unsafe sd_bus_message_skip(message, nil) >= 0 ? .other : nil
    }

    private func basic<Value: BitwiseCopyable>(_ type: UInt8, _ zero: Value) -> Value? {
      var value = zero
      let status = unsafe sd_bus_message_read_basic(message, CChar(type), &value)
      return status > 0 ? value : nil
    }

    private func text(_ type: Unicode.Scalar) -> String? { text(UInt8(ascii: type)) }

    private func text(_ type: UInt8) -> String? {
      var pointer: UnsafePointer<CChar>?
      guard unsafe sd_bus_message_read_basic(message, CChar(type), &pointer) > 0 else { return nil }
      return unsafe MessageBus.text(pointer)
    }

    private func bytes() -> BusValue? {
      var pointer: UnsafeRawPointer?
      var count = 0
      guard
        unsafe sd_bus_message_read_array(message, CChar(UInt8(ascii: "y")), &pointer, &count) >= 0
      else { return nil }
      return unsafe .bytes([UInt8](UnsafeRawBufferPointer(start: pointer, count: count)))
    }

    private func texts(_ contents: String) -> [String]? {
      container(UInt8(ascii: "a"), contents) {
        var texts: [String] = []
        while let next = peek() {
          guard let text = text(next.type) else { return nil }
          texts.append(text)
        }
        return texts
      } ?? nil
    }

    private func dictionary<Key: Hashable, Value>(
      _ contents: String, key: () -> Key?, _ value: () -> Value?
    ) -> [Key: Value]? {
      container(UInt8(ascii: "a"), contents) { () -> [Key: Value]? in
        var values: [Key: Value] = [:]
        while let next = peek() {
          let entry = container(next.type, next.contents) { () -> (Key, Value)? in
            guard let key = key(), let value = value() else { return nil }
            return (key, value)
          }
          guard let (key, value) = entry ?? nil else { return nil }
          values[key] = value
        }
        return values
      } ?? nil
    }

    /// Enters a container, reads it and leaves it; nil if that is not possible.
    private func container<Value>(
      _ type: UInt8, _ contents: String, _ read: () -> Value
    ) -> Value? {
      guard unsafe sd_bus_message_enter_container(message, CChar(type), contents) > 0 else {
        return nil
      }
      let value = read()
      return unsafe sd_bus_message_exit_container(message) >= 0 ? value : nil
    }
  }
#endif
