#if BlueZ
  import BlueZMachines
  internal import CSystemd

  /// Appends arguments to a message.
  @safe
  struct MessageWriter {
    private let message: OpaquePointer?

    init(_ message: OpaquePointer?) { unsafe self.message = message }

    /// Returns a negative error number if one can't be appended.
    func append(_ values: [BusValue]) -> Int32 {
      for value in values {
        let status = append(value)
        if status < 0 { return status }
      }
      return 0
    }

    private func append(_ value: BusValue) -> Int32 {
      switch value {
      case .boolean(let value): basic("b", Int32(value ? 1 : 0))
      case .byte(let value): basic("y", value)
      case .int16(let value): basic("n", value)
      case .uint16(let value): basic("q", value)
      case .uint32(let value): basic("u", value)
      case .string(let text): self.text("s", text)
      case .path(let text): self.text("o", text)
      case .bytes(let bytes): array(bytes)
      case .strings(let texts): container("a", "s") { each(texts) { text("s", $0) } }
      case .paths(let texts): container("a", "o") { each(texts) { text("o", $0) } }
      case .properties(let values): properties(values)
      case .numbered(let values):
        container("a", "{qv}") {
          each(values) { entry in
            container("e", "qv") { both(basic("q", entry.key)) { variant(entry.value) } }
          }
        }
      case .interfaces(let values): interfaces(values)
      case .objects(let values):
        container("a", "{oa{sa{sv}}}") {
          each(values) { entry in
            container("e", "oa{sa{sv}}") { both(text("o", entry.key)) { interfaces(entry.value) } }
          }
        }
      case .patterns(let patterns):
        container("a", "(yyay)") {
          each(patterns) { pattern in
            container("r", "yyay") {
              both(basic("y", pattern.start)) {
                both(basic("y", pattern.type)) { array(pattern.content) }
              }
            }
          }
        }
      case .variant(let value): variant(value)
      case .other: -22  // EINVAL
      }
    }

    private func interfaces(_ values: [String: [String: BusValue]]) -> Int32 {
      container("a", "{sa{sv}}") {
        each(values) { entry in
          container("e", "sa{sv}") { both(text("s", entry.key)) { properties(entry.value) } }
        }
      }
    }

    private func properties(_ values: [String: BusValue]) -> Int32 {
      container("a", "{sv}") {
        each(values) { entry in
          container("e", "sv") { both(text("s", entry.key)) { variant(entry.value) } }
        }
      }
    }

    private func variant(_ value: BusValue) -> Int32 {
      container("v", value.signature) { append(value) }
    }

    private func basic<Value: BitwiseCopyable>(_ type: Unicode.Scalar, _ value: Value) -> Int32 {
      var value = value
      return unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: type)), &value)
    }

    private func text(_ type: Unicode.Scalar, _ text: String) -> Int32 {
      unsafe text.withCString {
        unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: type)), $0)
      }
    }

    private func array(_ bytes: [UInt8]) -> Int32 {
      unsafe bytes.withUnsafeBytes {
        unsafe sd_bus_message_append_array(
          message, CChar(UInt8(ascii: "y")), $0.baseAddress, $0.count)
      }
    }

    private func container(
      _ type: Unicode.Scalar, _ contents: String, _ append: () -> Int32
    ) -> Int32 {
      let status = unsafe sd_bus_message_open_container(
        message, CChar(UInt8(ascii: type)), contents)
      guard status >= 0 else { return status }
      return both(append()) { unsafe sd_bus_message_close_container(message) }
    }

    private func both(_ status: Int32, _ then: () -> Int32) -> Int32 {
      status < 0 ? status : then()
    }

    private func each<Elements: Sequence>(
      _ elements: Elements, _ append: (Elements.Element) -> Int32
    ) -> Int32 {
      for element in elements {
        let status = append(element)
        if status < 0 { return status }
      }
      return 0
    }
  }

  extension BusValue {
    /// The type of the value in a variant.
    fileprivate var signature: String {
      switch self {
      case .boolean: "b"
      case .byte: "y"
      case .int16: "n"
      case .uint16: "q"
      case .uint32: "u"
      case .string: "s"
      case .path: "o"
      case .bytes: "ay"
      case .strings: "as"
      case .paths: "ao"
      case .properties: "a{sv}"
      case .numbered: "a{qv}"
      case .interfaces: "a{sa{sv}}"
      case .objects: "a{oa{sa{sv}}}"
      case .patterns: "a(yyay)"
      case .variant: "v"
      case .other: "y"
      }
    }
  }
#endif
