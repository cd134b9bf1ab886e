#if BlueZ
  /// The choice of bluetoothd's radio, in the format of `AMBIT_RADIO` and `--radio`: `bluez`, or `bluez:hci1`.
  package struct BlueZRadio: Hashable, Sendable, CustomStringConvertible {
    /// The name of the adapter; nil for the first one that is on.
    package var adapter: String?

    /// Creates the choice of an adapter.
    package init(adapter: String? = nil) { self.adapter = adapter }

    /// Parses the name of a radio; nil for one that isn't bluetoothd's.
    ///
    /// - Throws: `BlueZRadioError` if the name of the adapter is missing or invalid.
    package init?(parsing text: String) throws(BlueZRadioError) {
      if text == "bluez" {
        adapter = nil
        return
      }
      guard text.hasPrefix("bluez:") else { return nil }
      let name = text.dropFirst("bluez:".count)
      guard name.hasPrefix("hci"), case let digits = name.dropFirst(3), !digits.isEmpty,
        digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
        UInt16(digits) != nil
      else { throw BlueZRadioError(text: text) }
      adapter = String(name)
    }

    package var description: String { adapter.map { "bluez:" + $0 } ?? "bluez" }
  }

  /// The reason why a text doesn't name an adapter of bluetoothd.
  package struct BlueZRadioError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The text.
    package var text: String

    /// A sentence for users.
    package var description: String {
      "\"\(text)\" names no radio: \"bluez\" may be followed by an adapter, as in bluez:hci0."
    }
  }
#endif
