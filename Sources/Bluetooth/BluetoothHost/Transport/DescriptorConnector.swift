import BluetoothInterface
import BluetoothMachines
import EventLoop
import Glibc

extension H4Transport.Connector {
  /// What reading and writing fail with once a device is gone: a serial line with the first three,
  /// a user channel with EPIPE or, where only the write comes too late, ENETDOWN.
  private static let goneNumbers = [EIO, ENODEV, ENXIO, EPIPE, ENETDOWN]

  /// H4 over a file descriptor that `open` makes; it belongs to the transport from then on and must
  /// not block.
  static func descriptor(
    name: String, framing: ByteChannel.Framing, endOfStream: HostError,
    open: @escaping @Sendable () throws(HostError) -> Int32
  ) -> Self {
    Self(
      name: name, framing: framing,
      open: { _, completion in
        completion(Result { () throws(HostError) in try open() })
        return {}
      },
      explain: { error in
        goneNumbers.contains(error.number)
          ? endOfStream : .transport("The radio \(name) failed: \(error.text).")
      },
      endOfStream: endOfStream)
  }

  /// H4 over a serial line.
  static func uart(_ line: RadioChoice.SerialLine) -> Self {
    descriptor(
      name: RadioChoice.uart(line).description, framing: .stream,
      endOfStream: .transport("The serial line \(line.path) was unplugged.")
    ) { () throws(HostError) in try line.open() }
  }

  /// The user channel of a Linux controller.
  static func userChannel(_ index: UInt16) -> Self {
    descriptor(
      name: "hci\(index)", framing: .packets,
      endOfStream: .transport("The controller hci\(index) was removed.")
    ) { () throws(HostError) in try UserChannel.open(index) }
  }
}

extension RadioChoice.SerialLine {
  /// Opens the serial line for exclusive use, in raw mode, at its speed.
  func open() throws(HostError) -> Int32 {
    // Not blocking, so that a line without a carrier opens at once.
    let descriptor = unsafe Glibc.open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.explain(.current, path: path) }
    do {
      try configure(descriptor)
    } catch {
      Glibc.close(descriptor)
      throw error
    }
    return descriptor
  }

  private func configure(_ descriptor: Int32) throws(HostError) {
    var settings = termios()
    guard unsafe tcgetattr(descriptor, &settings) == 0 else {
      throw .transport("\"\(path)\" is not a serial line.")
    }
    guard let speed = SerialSpeed.all[baudRate] else {
      throw .unsupported("Serial lines do not support the speed \(baudRate).")
    }
    unsafe cfmakeraw(&settings)
    settings.c_cflag |= tcflag_t(CLOCAL | CREAD)
    settings.c_cflag &= ~tcflag_t(CSTOPB)
    let flowControl: tcflag_t = 0o020_000_000_000  // CRTSCTS, which Glibc does not export
    if usesFlowControl {
      settings.c_cflag |= flowControl
    } else {
      settings.c_cflag &= ~flowControl
    }
    guard unsafe cfsetspeed(&settings, speed) == 0,
      unsafe tcsetattr(descriptor, TCSANOW, &settings) == 0
    else {
      throw .transport("The serial line \(path) refuses its settings: \(SystemError.current.text).")
    }
    _ = tcflush(descriptor, TCIOFLUSH)
  }

  static func explain(_ error: SystemError, path: String) -> HostError {
    switch error.number {
    case ENOENT, ENXIO, ENODEV:
      .transport("The serial line \(path) does not exist; is the device plugged in?")
    case EACCES, EPERM:
      .unauthorized(
        "This user may not open \(path): \"sudo usermod -aG dialout $USER\" and a new login help.")
    case EBUSY:
      .transport("Another program uses the serial line \(path).")
    default:
      .transport("The serial line \(path) cannot be opened: \(error.text).")
    }
  }
}

/// The HCI user channel of Linux: a controller handed over to one process
/// (`HCI_CHANNEL_USER`, Linux 3.13 and later).
enum UserChannel {
  // From the kernel's headers, which Glibc does not have.
  private static let addressFamily: Int32 = 31  // AF_BLUETOOTH
  private static let hciProtocol: Int32 = 1  // BTPROTO_HCI
  private static let userChannel: UInt16 = 1  // HCI_CHANNEL_USER

  /// Opens the user channel of `hci<index>`.
  static func open(_ index: UInt16) throws(HostError) -> Int32 {
    let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(addressFamily, type, hciProtocol)
    guard descriptor >= 0 else { throw explain(.current, index: index) }
    guard bind(descriptor, index) == 0 else {
      let error = SystemError.current
      Glibc.close(descriptor)
      throw explain(error, index: index)
    }
    return descriptor
  }

  private static func bind(_ descriptor: Int32, _ index: UInt16) -> Int32 {
    // struct sockaddr_hci: three native 16-bit numbers.
    let address = [UInt16(addressFamily), index, userChannel]
    return unsafe address.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return -1 }
      return unsafe Glibc.bind(
        descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
  }

  /// Puts the failure to open the user channel into one sentence, with the way out.
  static func explain(_ error: SystemError, index: UInt16) -> HostError {
    switch error.number {
    case EAFNOSUPPORT, EPROTONOSUPPORT:
      return .unsupported(
        "This Linux kernel has no Bluetooth, so hci\(index) does not exist; "
          + "\"sudo modprobe bluetooth\" helps where the kernel has it as a module.")
    case EPERM, EACCES:
      return .unauthorized(
        "hci\(index) needs the privilege CAP_NET_ADMIN: run as root, or once "
          + "\"sudo setcap cap_net_admin,cap_net_raw+ep PROGRAM\".")
    // The error is EUSERS while another process has the user channel.
    case EBUSY, EALREADY, EUSERS:
      return .transport(
        "hci\(index) is in use: \"sudo systemctl stop bluetooth\" and "
          + "\"sudo hciconfig hci\(index) down\" release it.")
    case ENODEV:
      return .transport("The controller hci\(index) does not exist; is it plugged in?")
    case ERFKILL:
      return .transport("hci\(index) is switched off: \"sudo rfkill unblock bluetooth\" helps.")
    default:
      return .transport("hci\(index) cannot be opened: \(error.text).")
    }
  }
}
