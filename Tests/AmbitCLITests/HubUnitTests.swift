import BluetoothHost
import Essentials
import Foundation
import Testing

@testable import AmbitCLI

@Suite("The units of systemd that run a hub")
struct HubUnitTests {
  private static let executable = "/usr/local/bin/ambit"

  private static func units(
    _ radio: String, _ scope: HubUnits.Scope = .system, executable: String = executable,
    options: [String] = [], runsNetwork: Bool = true, device: HubUnits.Device? = nil
  ) throws -> HubUnits {
    try HubUnits(
      scope, radio: RadioChoice(parsing: radio), executable: executable, options: options,
      runsNetwork: runsNetwork, device: device)
  }

  private static func lines(_ units: HubUnits, _ name: String) throws -> [String] {
    let file = try #require(units.files.first { $0.name == name })
    return file.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  private static func service(_ units: HubUnits) throws -> [String] {
    try lines(units, "ambit-hub.service")
  }

  private static func socket(_ units: HubUnits) throws -> [String] {
    try lines(units, "ambit-hub.socket")
  }

  @Test("a hub that runs Multicast DNS has a socket for it, and Internet sockets without a bound")
  func multicastDNS() throws {
    for (radio, families) in [("hci0", "AF_UNIX AF_BLUETOOTH"), ("sim", "AF_UNIX")] {
      let units = try Self.units(radio)
      let lines = try Self.service(units)
      #expect(lines.contains("RestrictAddressFamilies=\(families) AF_INET AF_INET6 AF_NETLINK"))
      #expect(!lines.contains { $0.hasPrefix("IPAddress") || $0.hasPrefix("PrivateNetwork=") })
      #expect(lines.contains("ExecStart=/usr/local/bin/ambit hub run --radio \(radio)"))
      #expect(try Self.socket(units).contains("ListenStream=/run/ambit/hub.bonjour"))
      let without = try Self.units(radio, runsNetwork: false)
      #expect(try !Self.socket(without).contains { $0.contains("bonjour") })
    }
    let user = try Self.units("sim", .user)
    #expect(try Self.socket(user).contains("ListenStream=%t/ambit/hub.bonjour"))
  }

  @Test("a controller's hub has a user of its own, CAP_NET_ADMIN alone, and no network if it may")
  func controller() throws {
    let lines = try Self.service(Self.units("hci0", runsNetwork: false))
    for line in [
      "ExecStart=/usr/local/bin/ambit hub run --radio hci0 --no-network", "Type=notify",
      "WatchdogSec=20",
      "DynamicUser=yes", "StateDirectory=ambit", "Environment=XDG_STATE_HOME=%S",
      "AmbientCapabilities=CAP_NET_ADMIN", "CapabilityBoundingSet=CAP_NET_ADMIN",
      "RestrictAddressFamilies=AF_UNIX AF_BLUETOOTH", "IPAddressDeny=any", "PrivateDevices=yes",
      "ProtectSystem=strict", "MemoryDenyWriteExecute=yes", "Restart=on-failure",
    ] { #expect(lines.contains(line), "\(line)") }
    // A private network has no controllers; with private users, all programs would be of one user.
    #expect(!lines.contains { $0.hasPrefix("PrivateNetwork=") || $0.hasPrefix("PrivateUsers=") })
  }

  @Test("all users may connect to the system's socket, and only the user to that of a user's hub")
  func sockets() throws {
    let system = try Self.socket(Self.units("hci0"))
    for line in ["ListenStream=/run/ambit/hub", "SocketMode=0666", "DirectoryMode=0755"] {
      #expect(system.contains(line), "\(line)")
    }
    let user = try Self.socket(Self.units("sim", .user))
    for line in ["ListenStream=%t/ambit/hub", "SocketMode=0600", "DirectoryMode=0700"] {
      #expect(user.contains(line), "\(line)")
    }
  }

  @Test("a user's hub serves no controller, has no capabilities to lose, and needs no namespaces")
  func user() throws {
    #expect(throws: HubUnitsError.privileged(.hci(0))) { try Self.units("hci0", .user) }
    for radio in ["sim", "tcp:localhost:9100", "unix:/tmp/radio", "uart:/dev/ttyUSB0"] {
      let lines = try Self.service(Self.units(radio, .user))
      #expect(lines.contains("NoNewPrivileges=yes"))
      // A service manager of a user fails with these (status 218 and 226).
      for start in ["Capability", "Ambient", "Private", "Protect", "Dynamic", "DeviceAllow"] {
        #expect(!lines.contains { $0.hasPrefix(start) }, "\(radio): \(start)")
      }
    }
  }

  @Test("a serial radio may use all devices of its driver if it can be plugged in and out")
  func serial() throws {
    let usb = try Self.service(
      Self.units("uart:/dev/ttyUSB0@1000000,flow", runsNetwork: false))
    for line in [
      "DeviceAllow=char-ttyUSB rw", "SupplementaryGroups=dialout", "CapabilityBoundingSet=",
      "PrivateNetwork=yes", "Wants=modprobe@usbserial.service",
      "ExecStart=/usr/local/bin/ambit hub run --radio uart:/dev/ttyUSB0@1000000,flow --no-network",
    ] { #expect(usb.contains(line), "\(line)") }
    #expect(!usb.contains("PrivateDevices=yes"))

    let fixed = try Self.service(Self.units("uart:/dev/ttyAMA0"))
    #expect(fixed.contains("DeviceAllow=/dev/ttyAMA0 rw"))
    #expect(!fixed.contains { $0.contains("modprobe") })

    let link = "uart:/dev/serial/by-id/usb-Nordic"
    let absent = try Self.service(Self.units(link))
    #expect(absent.contains("DeviceAllow=char-ttyUSB rw"))
    #expect(absent.contains("DeviceAllow=char-ttyACM rw"))
    var device = HubUnits.Device(path: "/dev/ttyACM3")
    device.group = "plugdev"
    let present = try Self.service(Self.units(link, device: device))
    #expect(present.contains("DeviceAllow=char-ttyACM rw"))
    #expect(!present.contains("DeviceAllow=char-ttyUSB rw"))
    #expect(present.contains("SupplementaryGroups=plugdev"))
  }

  @Test(
    "the path of a serial line that systemd would interpret is refused",
    arguments: [
      "/dev/tty USB0", "/dev/tty%i", "/dev/ttyUSB0\nUser=root", "/dev/\"x", "/dev/$HOME",
      "/etc/passwd",
    ])
  func devices(_ path: String) throws {
    let radio = RadioChoice.uart(RadioChoice.SerialLine(path: path))
    #expect(throws: HubUnitsError.device(path)) {
      try HubUnits(.system, radio: radio, executable: Self.executable)
    }
  }

  @Test("a radio on the network may talk to its address alone, and to all if its host is a name")
  func network() throws {
    let lines = try Self.service(Self.units("tcp:192.0.2.1:9100", runsNetwork: false))
    #expect(lines.contains("IPAddressDeny=any") && lines.contains("IPAddressAllow=192.0.2.1"))
    #expect(lines.contains("RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK"))
    let other = try Self.service(Self.units("tcp:[2001:db8::1]:9100", runsNetwork: false))
    #expect(other.contains("IPAddressAllow=2001:db8::1"))
    let name = try Self.service(Self.units("tcp:radio.local:9100", runsNetwork: false))
    #expect(!name.contains { $0.hasPrefix("IPAddress") })
  }

  @Test(
    "the system's hub refuses files in folders that it can't see, and a user's hub takes them",
    arguments: [
      "sim:/home/ann/floor.json", "sim:/tmp/floor.json", "unix:/run/user/1000/radio",
      "unix:/root/radio", "sim:/srv/a.json,/var/tmp/b.json",
    ])
  func hidden(_ radio: String) throws {
    #expect {
      try Self.units(radio)
    } throws: { ($0 as? HubUnitsError)?.sentence.contains("can't use /") == true }
    #expect(throws: Never.self) { try Self.units(radio, .user) }
    #expect(throws: Never.self) { try Self.units("sim:/srv/floor.json") }
  }

  @Test("relative paths of radios become absolute")
  func relative() throws {
    func absolute(_ name: String) throws -> String {
      try RadioChoice(parsing: name).absolute(in: "/srv").description
    }
    #expect(try absolute("sim:floor.json,/a.json,seed=3") == "sim:/srv/floor.json,/a.json,seed=3")
    #expect(try absolute("unix:radio") == "unix:/srv/radio")
    #expect(try absolute("uart:ttyUSB0@9600") == "uart:/srv/ttyUSB0@9600")
    #expect(try absolute("hci1") == "hci1")
    let comma = try RadioChoice(parsing: "sim:floor.json").absolute(in: "/srv/a,b")
    #expect(throws: HubUnitsError.radio(comma)) {
      try HubUnits(.system, radio: comma, executable: Self.executable)
    }
  }

  @Test("no argument, whatever its characters, changes another line or reaches the hub changed")
  func hostileArguments() throws {
    let pieces = [
      "\n", "\r", "\\", "\"", "'", "%", "%h", "%%", "$", "$HOME", "${HOME}", "$$", " ", "\t", ";",
      "#",
      "[Service]", "User=root", "\u{7F}", "\u{85}", "\u{2028}", "\u{202E}", "é", "🙂", "\\x41", "-",
      "a", "=", "",
    ]
    let plain = try Self.service(Self.units("hci0", options: ["--address", "x"]))
    var generator = SeededGenerator(seed: 30)
    for _ in 0..<2_000 {
      let value = (0..<Int.random(in: 0...6, using: &generator))
        .map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
      let units = try Self.units("hci0", options: ["--address", value])
      let lines = try Self.service(units)
      func others(_ lines: [String]) -> [String] {
        lines.filter { !$0.hasPrefix("ExecStart=") && !$0.hasPrefix("# Written") }
      }
      try #require(others(lines) == others(plain), "\(value.debugDescription)")
      let line = try #require(lines.first { $0.hasPrefix("ExecStart=") })
      let words = UnitReader.words(line.dropFirst("ExecStart=".count))
      try #require(words == units.command, "\(value.debugDescription): \(line)")
    }
  }

  @Test("a path of the program is kept as it is, and one that systemd refuses is refused")
  func programs() throws {
    func start(_ path: String) throws -> String? {
      try Self.service(Self.units("sim", executable: path)).first { $0.hasPrefix("ExecStart=") }
    }
    #expect(
      try start("/opt/My Tools/100%/$x/ambit")
        == "ExecStart=\"/opt/My Tools/100%%/$x/ambit\" hub run --radio sim")
    for path in ["/opt/a\nb", "/opt/\"", "/opt/'", "/opt/\\", "/opt/\u{7F}", "ambit", "", "-/x"] {
      #expect(throws: HubUnitsError.programName(path)) { try start(path) }
    }
  }

  @Test("a file that install wrote is recognised until one byte of it is changed")
  func authors() throws {
    let file = try #require(try Self.units("hci0").files.last)
    let content = Array(file.text.utf8)
    #expect(UnitFile.author(of: content) == .install)
    for index in content.indices where index >= 100 {
      var changed = content
      changed[index] ^= 1
      #expect(UnitFile.author(of: changed) == .changed, "\(index)")
    }
    #expect(UnitFile.author(of: content + [0x0A]) == .changed)
    #expect(UnitFile.author(of: content.dropLast()) == .changed)
    #expect(UnitFile.author(of: Array(file.body.utf8)) == .other)
    #expect(UnitFile.author(of: []) == .other)
  }

  @Test("a command line for a shell is split into the same words")
  func shell() {
    #expect(
      ShellText.command(["/usr/bin/ambit", "a b", "it's", "", "--radio=hci0"])
        == #"/usr/bin/ambit 'a b' 'it'\''s' '' --radio=hci0"#)
  }

  @Test("a program that a service can't see, or that others may change, is reported")
  func warnings() {
    func warning(_ path: String, _ scope: HubUnits.Scope, isChangeable: Bool = false) -> String {
      ServiceProgram.warning(path, scope, isChangeable: isChangeable) ?? ""
    }
    #expect(warning("/usr/local/bin/ambit", .system) == "")
    #expect(warning("/usr/local/bin/ambit", .system, isChangeable: true).contains("may change"))
    #expect(warning("/home/ann/bin/ambit", .system).contains("can't see"))
    #expect(warning("/home/ann/bin/ambit", .user, isChangeable: true) == "")
    #expect(warning("/srv/ambit/.build/debug/ambit", .user).contains("build folder"))
  }

  @Test("remarks after the installation name the rules, and bluetoothd where it competes")
  func remarks() throws {
    let controller = HubInstall.remarks(try Self.units("hci0")).joined(separator: " ")
    #expect(controller.contains("/etc/ambit/hub.json") && controller.contains("bluetoothd"))
    let serial = HubInstall.remarks(try Self.units("uart:/dev/ttyUSB0")).joined(separator: " ")
    #expect(serial.contains("/etc/ambit/hub.json") && !serial.contains("bluetoothd"))
    let user = HubInstall.remarks(try Self.units("sim", .user)).joined(separator: " ")
    #expect(user.contains("$XDG_RUNTIME_DIR") && !user.contains("/etc"))
  }
}

/// Reads command lines as systemd does (systemd.syntax(7), systemd.service(5)).
enum UnitReader {
  /// The words that a program gets; nil if a quotation mark or an escape has no end, or a word has a variable
  /// or a specifier.
  static func words(_ line: some StringProtocol) -> [String]? {
    var rest = Array(line.unicodeScalars)[...]
    var words: [String] = []
    while let first = rest.first {
      if first == " " {
        rest.removeFirst()
        continue
      }
      guard let word = word(&rest), let text = expanded(word) else { return nil }
      words.append(text)
    }
    return words
  }

  private static func word(_ rest: inout ArraySlice<Unicode.Scalar>) -> [Unicode.Scalar]? {
    var word: [Unicode.Scalar] = []
    var isQuoted = false
    while let scalar = rest.first {
      if scalar == " ", !isQuoted { break }
      rest.removeFirst()
      switch scalar {
      case "\"": isQuoted.toggle()
      case "\\":
        guard let escaped = escape(&rest) else { return nil }
        word.append(escaped)
      case "'": if isQuoted { word.append(scalar) } else { return nil }
      default: word.append(scalar)
      }
    }
    return isQuoted ? nil : word
  }

  private static func escape(_ rest: inout ArraySlice<Unicode.Scalar>) -> Unicode.Scalar? {
    guard let kind = rest.popFirst() else { return nil }
    if kind == "\"" || kind == "\\" { return kind }
    let count = kind == "x" ? 2 : kind == "U" ? 8 : 0
    let digits = String(String.UnicodeScalarView(rest.prefix(count)))
    rest = rest.dropFirst(count)
    return UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init)
  }

  /// A word without the doubling of `%` and `$`; nil if one is single.
  private static func expanded(_ word: [Unicode.Scalar]) -> String? {
    var rest = word[...]
    var text = String.UnicodeScalarView()
    while let scalar = rest.popFirst() {
      if scalar == "%" || scalar == "$" {
        guard rest.popFirst() == scalar else { return nil }
      }
      text.append(scalar)
    }
    return String(text)
  }
}
