import EventLoop

/// The radio of a host, in the format of `AMBIT_RADIO` and `--radio`:
///
/// ```
/// sim                            the simulated radio, populated with a few devices
/// sim:empty   sim:seed=7         no other devices; another seed
/// sim:lossless                   no packet is lost to a collision
/// sim:strap.json                 the devices of peripheral files, recorded ones for example
/// tcp:localhost:9100             a controller that speaks H4 over TCP
/// unix:/tmp/radio                the same over a UNIX socket
/// uart:/dev/ttyUSB0@1000000,flow a controller on a serial line
/// hci0                           a controller of this Linux machine
/// ```
///
/// `none` is no radio: it throws an error of its own, so that a program that was given no radio
/// doesn't use the simulated one.
public enum RadioChoice: Hashable, Sendable {
  /// The simulated radio in this process.
  case simulated(SimulatedAir)
  /// H4 over TCP.
  case tcp(host: String, port: UInt16)
  /// H4 over a UNIX socket.
  case unix(path: String)
  /// H4 over a serial line.
  case uart(SerialLine)
  /// The HCI user channel of a controller of this Linux machine; the index of `hci0` is 0.
  case hci(UInt16)

  /// The settings of the simulated radio.
  public struct SimulatedAir: Hashable, Sendable {
    /// Whether the built-in devices are present.
    public var isPopulated: Bool
    /// The seed of the random numbers.
    public var seed: UInt64
    /// Whether no packet in range is lost, so that links don't break and all advertisements are
    /// received.
    public var isLossless: Bool
    /// Paths of peripheral files whose devices are present.
    public var files: [String]

    /// Creates the settings of a simulated radio.
    public init(
      isPopulated: Bool = true, seed: UInt64 = 1, isLossless: Bool = false, files: [String] = []
    ) {
      self.isPopulated = isPopulated
      self.seed = seed
      self.isLossless = isLossless
      self.files = files
    }
  }

  /// A serial line with eight data bits and no parity.
  public struct SerialLine: Hashable, Sendable {
    /// The device file.
    public var path: String
    /// Bits per second.
    public var baudRate: Int
    /// Whether RTS/CTS flow control is used.
    public var usesFlowControl: Bool

    /// Creates the settings of a serial line.
    public init(path: String, baudRate: Int = 115_200, usesFlowControl: Bool = false) {
      self.path = path
      self.baudRate = baudRate
      self.usesFlowControl = usesFlowControl
    }
  }

  /// The populated simulated radio.
  public static let standard = RadioChoice.simulated(SimulatedAir())

  /// Parses the name of a radio.
  ///
  /// - Throws: `RadioChoiceError` with the reason in one sentence.
  public init(parsing text: String) throws(RadioChoiceError) {
    let scheme = text.prefix { $0 != ":" }
    let rest = text.contains(":") ? String(text.dropFirst(scheme.count + 1)) : nil
    switch (scheme, rest) {
    case ("sim", let rest):
      self = .simulated(try Self.parseSimulated(rest ?? "", in: text))
    case ("tcp", let rest?):
      self = try Self.parseTCP(rest, in: text)
    case ("unix", let rest?):
      self = try Self.parseUNIX(rest, in: text)
    case ("uart", let rest?):
      self = .uart(try Self.parseUART(rest, in: text))
    case (let name, nil) where name.hasPrefix("hci"):
      guard let number = Self.number(name.dropFirst(3)), let index = UInt16(exactly: number) else {
        throw RadioChoiceError(text, "\"hci\" is followed by a number, as in hci0")
      }
      self = .hci(index)
    case ("tcp", nil), ("unix", nil), ("uart", nil):
      throw RadioChoiceError(text, "\"\(scheme)\" is followed by a colon and an address")
    case ("bluez", _):
      throw RadioChoiceError(
        text,
        "bluetoothd's radio is not one that a host of its own can open, and programs use it if they "
          + "are built with the trait BlueZ")
    case ("none", nil):
      throw .noRadio
    case ("", _):
      throw RadioChoiceError(text, "it is empty")
    default:
      throw RadioChoiceError(text, "unknown kind of radio")
    }
  }

  private static func parseSimulated(
    _ rest: String, in text: String
  ) throws(RadioChoiceError) -> SimulatedAir {
    var air = SimulatedAir()
    guard !rest.isEmpty else { return air }
    let options = rest.split(separator: ",", omittingEmptySubsequences: false)
    // Files alone: an app in a test meets the recorded devices only.
    air.isPopulated = !options.contains { $0.hasSuffix(".json") }
    for option in options {
      if option == "empty" {
        air.isPopulated = false
      } else if option == "home" {
        air.isPopulated = true
      } else if option == "lossless" {
        air.isLossless = true
      } else if option.hasSuffix(".json") {
        air.files.append(String(option))
      } else if option.hasPrefix("seed=") {
        let digits = option.dropFirst(5)
        guard digits.allSatisfy(\.isASCIIDigit), let seed = UInt64(digits) else {
          throw RadioChoiceError(text, "a seed is a whole number, not \"\(digits)\"")
        }
        air.seed = seed
      } else {
        throw RadioChoiceError(
          text, "\"sim\" takes \"empty\", \"home\", \"lossless\", \"seed=NUMBER\" and FILE.json")
      }
    }
    return air
  }

  private static func parseTCP(
    _ rest: String, in text: String
  ) throws(RadioChoiceError) -> RadioChoice {
    guard let colon = rest.lastIndex(of: ":") else {
      throw RadioChoiceError(text, "the port is missing, as in tcp:localhost:9100")
    }
    var host = rest[..<colon]
    let port = rest[rest.index(after: colon)...]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      throw RadioChoiceError(text, "an IPv6 address must be in brackets, as in tcp:[::1]:9100")
    }
    guard !host.isEmpty, !host.contains(where: \.isWhitespace) else {
      throw RadioChoiceError(text, "the host is missing, as in tcp:localhost:9100")
    }
    guard let number = number(port), let port = UInt16(exactly: number), port > 0 else {
      throw RadioChoiceError(text, "a port is a number from 1 to 65535, not \"\(port)\"")
    }
    return .tcp(host: String(host), port: port)
  }

  private static func parseUNIX(
    _ rest: String, in text: String
  ) throws(RadioChoiceError) -> RadioChoice {
    guard !rest.isEmpty else {
      throw RadioChoiceError(text, "the path is missing, as in unix:/tmp/radio")
    }
    guard rest.utf8.count <= SocketAddress.unixPathByteCountMax else {
      throw RadioChoiceError(
        text, "the path of a UNIX socket has at most \(SocketAddress.unixPathByteCountMax) bytes")
    }
    return .unix(path: rest)
  }

  private static func parseUART(
    _ rest: String, in text: String
  ) throws(RadioChoiceError) -> SerialLine {
    var rest = rest[...]
    var line = SerialLine(path: "")
    if rest.hasSuffix(",flow") {
      line.usesFlowControl = true
      rest = rest.dropLast(5)
    } else if let comma = rest.lastIndex(of: ",") {
      throw RadioChoiceError(
        text, "the one option of \"uart\" is \"flow\", not \"\(rest[rest.index(after: comma)...])\""
      )
    }
    if let at = rest.lastIndex(of: "@") {
      let digits = rest[rest.index(after: at)...]
      guard let baudRate = number(digits), SerialSpeed.all[baudRate] != nil else {
        throw RadioChoiceError(
          text, "\"\(digits)\" is not one of the speeds \(SerialSpeed.list)")
      }
      line.baudRate = baudRate
      rest = rest[..<at]
    }
    guard !rest.isEmpty else {
      throw RadioChoiceError(text, "the device is missing, as in uart:/dev/ttyUSB0")
    }
    line.path = String(rest)
    return line
  }

  private static func number(_ digits: Substring) -> Int? {
    guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else { return nil }
    return Int(digits)
  }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { "0" <= self && self <= "9" }
}

extension RadioChoice: CustomStringConvertible {
  /// The name of the radio, which `init(parsing:)` accepts.
  public var description: String {
    switch self {
    case .simulated(let air):
      var options: [String] = []
      if !air.isPopulated, air.files.isEmpty { options.append("empty") }
      if air.isPopulated, !air.files.isEmpty { options.append("home") }
      options += air.files
      if air.isLossless { options.append("lossless") }
      if air.seed != SimulatedAir().seed { options.append("seed=\(air.seed)") }
      return options.isEmpty ? "sim" : "sim:" + options.joined(separator: ",")
    case .tcp(let host, let port):
      return host.contains(":") ? "tcp:[\(host)]:\(port)" : "tcp:\(host):\(port)"
    case .unix(let path): return "unix:\(path)"
    case .uart(let line):
      return "uart:\(line.path)@\(line.baudRate)\(line.usesFlowControl ? ",flow" : "")"
    case .hci(let index): return "hci\(index)"
    }
  }
}

/// The reason why a text is not the name of a radio.
public struct RadioChoiceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The invalid name.
  public var text: String
  /// The reason.
  public var reason: String

  /// The error for `none`.
  static let noRadio = RadioChoiceError("none", "no radio is to be used")

  /// Whether the name is `none`, which is no mistake: no radio is to be used, not even a simulated
  /// one.
  public var isNoRadio: Bool { self == .noRadio }

  init(_ text: String, _ reason: String) {
    self.text = text
    self.reason = reason
  }

  /// A sentence for users, with the valid forms.
  public var description: String {
    if isNoRadio { return "The radio is \"none\": no radio is used, not even a simulated one." }
    return "\"\(text)\" names no radio: \(reason). "
      + "Radios are sim, sim:empty, tcp:HOST:PORT, unix:PATH, uart:DEVICE[@BAUD][,flow] and hci0; "
      + "\"none\" is no radio."
  }
}
