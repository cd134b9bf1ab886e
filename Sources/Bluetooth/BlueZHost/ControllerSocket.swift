#if BlueZ
  import BlueZMachines
  import Essentials
  import EventLoop
  import Glibc

  /// A raw HCI socket of a user without privileges: the kernel gives it some events of the controller, the list of
  /// links, and takes some commands that only read (the kernel's net/bluetooth/hci_sock.c, hci_sec_filter). Used on its
  /// loop only; its owner must call ``close()``.
  final class ControllerSocket {
    // From the kernel's headers, which Glibc does not have.
    private static let addressFamily: Int32 = 31  // AF_BLUETOOTH
    private static let hciProtocol: Int32 = 1  // BTPROTO_HCI
    private static let filterOption: Int32 = 2  // HCI_FILTER
    private static let connectionList: UInt = 0x8004_48D4  // HCIGETCONNLIST
    private static let connectionCountMax = 64
    private static let packetCountMax = 64

    private let index: UInt16
    private let watch: WatchedDescriptor
    private let onReport: (ControllerReport) -> Void

    /// Opens the socket; nil where the kernel or a rule of the machine refuses it.
    ///
    /// - Parameters:
    ///   - adapter: The name of the adapter, such as `hci0`.
    ///   - onReport: Called on the loop, and by ``drain()``.
    init?(
      adapter: String, on loop: EpollLoop, onReport: @escaping (ControllerReport) -> Void
    ) {
      guard adapter.hasPrefix("hci"), let index = UInt16(adapter.dropFirst(3)) else { return nil }
      let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      let descriptor = socket(Self.addressFamily, type, Self.hciProtocol)
      guard descriptor >= 0 else { return nil }
      guard Self.prepare(descriptor, index) else {
        Glibc.close(descriptor)
        return nil
      }
      var ready: () -> Void = {}
      do throws(SystemError) {
        watch = try WatchedDescriptor(owning: descriptor, on: loop) { _ in ready() }
      } catch {
        return nil
      }
      self.index = index
      self.onReport = onReport
      ready = { [weak self] in self?.drain() }
    }

    /// Sets the filter, events of links and results of commands, and binds the socket to the controller.
    private static func prepare(_ descriptor: Int32, _ index: UInt16) -> Bool {
      // struct hci_filter: types of packets, events (0x05 and 0x0E), an opcode, and two bytes of padding.
      let filter: [UInt32] = [1 << 4, 1 << 0x05 | 1 << 0x0E, 0, 0]
      let status = unsafe filter.withUnsafeBytes {
        unsafe setsockopt(descriptor, 0, filterOption, $0.baseAddress, socklen_t($0.count))
      }
      guard status == 0 else { return false }
      // struct sockaddr_hci: three native 16-bit numbers, the last of which is HCI_CHANNEL_RAW.
      let address = [UInt16(addressFamily), index, 0]
      return unsafe address.withUnsafeBytes { bytes in
        guard let start = bytes.baseAddress else { return false }
        return unsafe bind(
          descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
      }
    }

    func close() { watch.close() }

    /// Reports the events that are in the socket.
    func drain() {
      var packet = [UInt8](repeating: 0, count: 264)
      for _ in 0..<Self.packetCountMax {
        guard watch.isOpen else { return }
        let count = unsafe packet.withUnsafeMutableBytes {
          unsafe read(watch.descriptor, $0.baseAddress, $0.count)
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else {
          // The controller is gone: the socket would be ready for ever.
          if count == 0 || errno != EAGAIN { watch.close() }
          return
        }
        if let report = ControllerReport(packet: packet[..<count]) { onReport(report) }
      }
    }

    /// The LE links of the controller.
    func connections() -> [ControllerConnection] {
      guard watch.isOpen else { return [] }
      // struct hci_conn_list_req: the number of the controller, that of links, and the links.
      var request = [UInt8](repeating: 0, count: 4 + 16 * Self.connectionCountMax)
      request[0] = UInt8(truncatingIfNeeded: index)
      request[1] = UInt8(index >> 8)
      request[2] = UInt8(Self.connectionCountMax)
      let status = unsafe request.withUnsafeMutableBytes { bytes in
        guard let start = bytes.baseAddress else { return Int32(-1) }
        return unsafe ioctl(watch.descriptor, Self.connectionList, start)
      }
      guard status == 0 else { return [] }
      let count = min(Int(request[2]) | Int(request[3]) << 8, Self.connectionCountMax)
      return ControllerConnection.list(request[4..<4 + 16 * count])
    }

    /// Requests the RSSI of a link; a report follows.
    func readRSSI(_ handle: UInt16) {
      guard watch.isOpen else { return }
      let command = ControllerReport.readRSSI(handle)
      _ = unsafe command.withUnsafeBytes {
        unsafe write(watch.descriptor, $0.baseAddress, $0.count)
      }
    }
  }
#endif
