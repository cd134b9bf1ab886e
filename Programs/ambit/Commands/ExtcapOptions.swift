import ArgumentParser
import BluetoothWire

/// The options that Wireshark gives an extcap program
/// (https://www.wireshark.org/docs/wsdg_html_chunked/ChCaptureExtcap.html).
struct ExtcapOptions: ParsableArguments {
  @Flag(name: .customLong("extcap-interfaces")) var listsInterfaces = false
  @Flag(name: .customLong("extcap-dlts")) var listsLinkTypes = false
  @Flag(name: .customLong("extcap-config")) var listsOptions = false
  @Flag(name: .customLong("capture")) var captures = false
  @Option(name: .customLong("extcap-interface")) var interface: String?
  @Option(name: .customLong("extcap-version")) var version: String?
  @Option(name: .customLong("extcap-capture-filter")) var filter: String?
  @Option(name: .customLong("fifo")) var fifo: String?

  static let interfaceName = "ambit"

  /// Whether Wireshark has called the program.
  var isRequest: Bool { answer != nil || fifo != nil }

  /// The lines that answer a question of Wireshark; nil without a question.
  var answer: [String]? {
    if listsInterfaces {
      return [
        "extcap {version=1.0}",
        "interface {value=\(Self.interfaceName)}{display=Bluetooth LE (Ambit)}",
      ]
    }
    if listsLinkTypes {
      return [
        "dlt {number=\(PCAPNG.linkType)}{name=BLUETOOTH_HCI_H4_WITH_PHDR}{display=Bluetooth HCI}"
      ]
    }
    if listsOptions {
      return [
        "arg {number=0}{call=--radio}{display=Radio}{type=string}"
          + "{tooltip=sim, hci0, tcp:HOST:PORT or another radio of ambit --radio}"
      ]
    }
    // A filter is checked before the capture; there are none.
    return filter != nil && !captures ? [] : nil
  }

  func validate() throws {
    if let interface, interface != Self.interfaceName {
      throw ValidationError("The interface is \(Self.interfaceName).")
    }
    if captures, fifo == nil {
      throw ValidationError("--capture takes --fifo, the pipe to write to.")
    }
  }
}
