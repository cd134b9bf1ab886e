import BluetoothHost
import Essentials
import HubPlaces

/// The units of systemd that run a hub: a socket, and a service that is started by the first program that
/// connects. Pure: everything that depends on the machine is a parameter.
struct HubUnits: Hashable, Sendable {
  /// The manager of the units.
  enum Scope: CaseIterable, Hashable, Sendable {
    /// The system's.
    case system
    /// The user's own.
    case user
  }

  /// The device file of a serial radio.
  struct Device: Hashable, Sendable {
    /// Its path without symbolic links.
    var path: String
    /// The group that may use it.
    var group: String

    /// A device that isn't there, with the group that udev gives it.
    init(path: String, group: String = "dialout") {
      self.path = path
      self.group = group
    }
  }

  static let socketName = "ambit-hub.socket"
  static let serviceName = "ambit-hub.service"

  let scope: Scope
  let radio: RadioChoice
  /// Whether the hub runs Multicast DNS for programs.
  let runsNetwork: Bool
  /// The program and its arguments.
  let command: [String]
  private let program: String
  private let serial: Serial

  /// What the service of a serial radio may use.
  private struct Serial: Hashable, Sendable {
    var group: String
    var rules: [String]
    /// The modules of the kernel that are loaded for it.
    var modules: [String]
  }

  /// - Parameters:
  ///   - scope: The manager of the units.
  ///   - radio: The radio, with absolute paths.
  ///   - executable: The path of `ambit`.
  ///   - options: More options of `ambit hub run`.
  ///   - runsNetwork: Whether the hub runs Multicast DNS for programs.
  ///   - device: The device file of a serial radio, if it is there.
  /// - Throws: If no such hub can run.
  init(
    _ scope: Scope, radio: RadioChoice, executable: String, options: [String] = [],
    runsNetwork: Bool = true, device: Device? = nil
  ) throws(HubUnitsError) {
    guard let program = UnitText.program(executable) else {
      throw HubUnitsError.programName(executable)
    }
    guard (try? RadioChoice(parsing: radio.description)) == radio else {
      throw HubUnitsError.radio(radio)
    }
    if case .hci = radio, scope == .user { throw HubUnitsError.privileged(radio) }
    if scope == .system, let path = radio.paths.first(where: Self.isHidden) {
      throw HubUnitsError.hidden(path)
    }
    if scope == .system, case .uart(let line) = radio {
      let device = device ?? Device(path: line.path)
      guard let rules = Self.rules(for: device) else { throw HubUnitsError.device(line.path) }
      serial = Serial(
        group: device.group, rules: rules, modules: Self.drivers(of: device).map(\.module))
    } else {
      serial = Serial(group: "", rules: [], modules: [])
    }
    self.scope = scope
    self.radio = radio
    self.runsNetwork = runsNetwork
    self.program = program
    command =
      [executable, "hub", "run", "--radio", radio.description] + options
      + (runsNetwork ? [] : ["--no-network"])
  }

  /// The files.
  var files: [UnitFile] {
    [
      UnitFile(name: Self.socketName, body: socket),
      UnitFile(name: Self.serviceName, body: service),
    ]
  }

  /// Whether the service of the system can't see a file: it has no home folders and a `/tmp` of its own.
  static func isHidden(_ path: String) -> Bool {
    ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"].contains { path.hasPrefix($0) }
  }

  // MARK: The socket

  private var socket: String {
    let (path, socketMode, folderMode) =
      scope == .system ? ("/run/ambit/hub", "0666", "0755") : ("%t/ambit/hub", "0600", "0700")
    let comment =
      scope == .system
      ? "\n# All users may connect; the hub decides by its rules which programs it serves." : ""
    let network = runsNetwork ? "\nListenStream=\(HubPath.bonjour(beside: path))" : ""
    return """
      [Unit]
      Description=Socket of the Ambit hub

      [Socket]
      ListenStream=\(path)\(network)\(comment)
      SocketMode=\(socketMode)
      DirectoryMode=\(folderMode)
      RemoveOnStop=yes

      [Install]
      WantedBy=sockets.target

      """
  }

  // MARK: The service

  private var service: String {
    let arguments = [program] + command.dropFirst().map(UnitText.argument)
    let parts = scope == .system ? [bonds, access, Self.isolation, Self.calls] : [Self.calls]
    return """
      [Unit]
      Description=Ambit hub
      Requires=\(Self.socketName)
      After=\(Self.socketName)
      # Programs wait at the socket while the hub fails; it is started again without a limit.
      StartLimitIntervalSec=0\(module)

      [Service]
      Type=notify
      NotifyAccess=main
      ExecStart=\(arguments.joined(separator: " "))
      Restart=on-failure
      RestartSec=2
      # The hub reports twice in this time that its event loop works.
      WatchdogSec=20
      TimeoutStopSec=5

      \(parts.joined(separator: "\n\n"))

      [Install]
      Also=\(Self.socketName)

      """
  }

  /// Loads the driver of a device that isn't plugged in, as access to it can't be allowed otherwise.
  private var module: String {
    serial.modules.map { "\nWants=modprobe@\($0).service\nAfter=modprobe@\($0).service" }.joined()
  }

  private var bonds: String {
    """
    DynamicUser=yes
    StateDirectory=ambit
    StateDirectoryMode=0700
    Environment=XDG_STATE_HOME=%S
    """
  }

  /// The part of the sandbox that depends on the radio.
  private var access: String {
    switch radio {
    case .hci:
      """
      # The user channel of a controller takes CAP_NET_ADMIN, in the first network namespace.
      AmbientCapabilities=CAP_NET_ADMIN
      CapabilityBoundingSet=CAP_NET_ADMIN
      \(families("AF_BLUETOOTH"))
      PrivateDevices=yes
      DevicePolicy=closed
      """
    case .uart:
      """
      # PrivateDevices=yes would hide the serial line.
      DevicePolicy=closed
      \(serial.rules.map { "DeviceAllow=\($0) rw" }.joined(separator: "\n"))
      SupplementaryGroups=\(serial.group)
      \(network)
      """
    case .tcp(let host, _):
      """
      CapabilityBoundingSet=
      # AF_NETLINK is for the lookup of names, and for the interfaces of Multicast DNS.
      RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
      \(runsNetwork ? "" : Self.peers(host))PrivateDevices=yes
      DevicePolicy=closed
      """
    case .unix, .simulated:
      """
      \(network)
      PrivateDevices=yes
      DevicePolicy=closed
      """
    }
  }

  /// What a hub without a controller may use: no network, unless it runs Multicast DNS.
  private var network: String {
    "CapabilityBoundingSet=\n" + families() + (runsNetwork ? "" : "\nPrivateNetwork=yes")
  }

  /// The kinds of sockets. Multicast DNS talks to all addresses: those of a local network may be any.
  private func families(_ other: String? = nil) -> String {
    let families = ["AF_UNIX", other].compactMap(\.self)
    guard runsNetwork else {
      return "RestrictAddressFamilies=\(families.joined(separator: " "))\nIPAddressDeny=any"
    }
    return """
      # Multicast DNS; AF_NETLINK is for the interfaces.
      RestrictAddressFamilies=\((families + ["AF_INET", "AF_INET6", "AF_NETLINK"]).joined(separator: " "))
      """
  }

  /// The addresses that a radio's host may have; every address for a host that is a name.
  private static func peers(_ host: String) -> String {
    let address = Inet4Address(text: host)?.description ?? Inet6Address(text: host)?.description
    return address.map { "IPAddressDeny=any\nIPAddressAllow=\($0)\n" } ?? ""
  }

  private static let isolation = """
    # No PrivateUsers=yes: the hub must see the users of programs. No ProtectProc=invisible: it reads the
    # units of programs in /proc, for its rules.
    ProtectProc=default
    ProcSubset=pid
    ProtectSystem=strict
    ProtectHome=yes
    PrivateTmp=yes
    PrivateMounts=yes
    ProtectKernelTunables=yes
    ProtectKernelModules=yes
    ProtectKernelLogs=yes
    ProtectControlGroups=yes
    ProtectClock=yes
    ProtectHostname=yes
    RemoveIPC=yes
    KeyringMode=private
    """

  /// What a service manager of a user can set up, too, without namespaces.
  private static let calls = """
    NoNewPrivileges=yes
    LockPersonality=yes
    MemoryDenyWriteExecute=yes
    RestrictNamespaces=yes
    RestrictRealtime=yes
    RestrictSUIDSGID=yes
    SystemCallArchitectures=native
    SystemCallFilter=@system-service
    SystemCallFilter=~@privileged @resources
    SystemCallErrorNumber=EPERM
    UMask=0077
    """

  // MARK: Serial lines

  /// Drivers of devices that are plugged in and out, with their modules.
  private static let modules = [("ttyUSB", "usbserial"), ("ttyACM", "cdc_acm")]

  /// The drivers of a device that may be plugged in and out, with their modules.
  private static func drivers(of device: Device) -> [(driver: String, module: String)] {
    // A link that isn't there yet may become one to either.
    if device.path.hasPrefix("/dev/serial/") { return modules }
    return modules.filter { driver, _ in
      let start = "/dev/" + driver
      let number = device.path.dropFirst(start.count)
      return device.path.hasPrefix(start) && !number.isEmpty
        && number.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
  }

  /// The devices that the service may use: all of a driver, since one that is plugged in again may get another
  /// number; otherwise the one. Nil if the device's path or group has characters that systemd interprets.
  private static func rules(for device: Device) -> [String]? {
    guard device.path.hasPrefix("/dev/"), UnitText.argument(device.path) == device.path,
      UnitText.argument(device.group) == device.group
    else { return nil }
    let drivers = drivers(of: device)
    return drivers.isEmpty ? [device.path] : drivers.map { "char-" + $0.driver }
  }
}

/// The reason why units can't run a hub.
struct HubUnitsError: Error, Hashable, Sendable {
  /// One sentence, without a full stop.
  let sentence: String

  private init(_ sentence: String) { self.sentence = sentence }

  static func programName(_ path: String) -> HubUnitsError {
    HubUnitsError(
      "systemd runs no program whose path has quotation marks, backslashes or control characters: "
        + Fit.safe(path))
  }

  static func privileged(_ radio: RadioChoice) -> HubUnitsError {
    HubUnitsError(
      "a user's hub serves simulated, TCP, UNIX and serial radios only, because \(radio) takes "
        + "CAP_NET_ADMIN; without --user, the system's hub serves it")
  }

  static func hidden(_ path: String) -> HubUnitsError {
    HubUnitsError(
      "the system's hub has no home folders and a /tmp of its own, so that it can't use "
        + Fit.safe(path))
  }

  static func radio(_ radio: RadioChoice) -> HubUnitsError {
    HubUnitsError("the path of the radio can't be given as an option: \(Fit.safe("\(radio)"))")
  }

  static func device(_ path: String) -> HubUnitsError {
    HubUnitsError("systemd can't allow a service this serial line: \(Fit.safe(path))")
  }
}

extension RadioChoice {
  /// The paths of the files that it uses, without a device.
  fileprivate var paths: [String] {
    switch self {
    case .simulated(let air): air.files
    case .unix(let path): [path]
    case .tcp, .uart, .hci: []
    }
  }

  /// The same radio with absolute paths.
  func absolute(in folder: String) -> RadioChoice {
    func absolute(_ path: String) -> String { path.hasPrefix("/") ? path : folder + "/" + path }
    switch self {
    case .simulated(var air):
      air.files = air.files.map(absolute)
      return .simulated(air)
    case .unix(let path): return .unix(path: absolute(path))
    case .uart(var line):
      line.path = absolute(line.path)
      return .uart(line)
    case .tcp, .hci: return self
    }
  }
}
