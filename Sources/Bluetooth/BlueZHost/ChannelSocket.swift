#if BlueZ
  import BlueZMachines
  import BluetoothInterface
  import BluetoothWire
  import Essentials
  import EventLoop
  import Glibc

  /// A socket of the kernel's L2CAP with LE's flow control by credits: of a channel, or one that listens. It needs no
  /// privilege (the kernel's net/bluetooth/l2cap_sock.c). Used on its loop only; its owner must call ``close()`` or
  /// ``closeWhenSent(_:)``.
  final class ChannelSocket {
    // From the kernel's headers, which Glibc does not have.
    private static let protocolNumber: Int32 = 0  // BTPROTO_L2CAP
    private static let optionLevel: Int32 = 274  // SOL_BLUETOOTH
    private static let securityOption: Int32 = 4  // BT_SECURITY
    private static let mediumSecurity: UInt8 = 2  // BT_SECURITY_MEDIUM
    private static let sendMTUOption: Int32 = 12  // BT_SNDMTU
    private static let receiveMTUOption: Int32 = 13  // BT_RCVMTU
    private static let freeSpaceRequest = UInt(TIOCOUTQ)

    /// The longest SDU that peers may send.
    private static let receiveMTU: UInt16 = 2_048
    private static let backlog: Int32 = 8
    /// The kernel doubles it, and counts its own structures, too.
    private static let sendBufferSize: Int32 = 8_192
    /// SDUs that are read or written before other things of the loop.
    private static let turnCountMax = 64
    /// SDUs that are read of a channel that has ended: more than the kernel's buffer holds.
    private static let restCountMax = 4_096
    private static let acceptingPause = TimeSpan.seconds(1)
    private static let dynamicPSMs: ClosedRange<UInt16> = 0x80...0xFF

    /// Whether the kernel gives a peer credits for the bytes that are read only, from 6.9 on.
    static let kernelHoldsPeersBack: Bool = {
      var name = utsname()
      guard unsafe uname(&name) == 0 else { return false }
      let release = unsafe withUnsafeBytes(of: &name.release) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      let numbers = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
      return numbers.count == 2 && (numbers[0], numbers[1]) >= (6, 9)
    }()

    enum Role: Equatable {
      case connecting
      case open(mtu: Int)
      case listening
    }

    /// An event of the loop.
    enum Report {
      case event(ChannelSocketEvent)
      /// A peer has opened this channel.
      case accepted(ChannelSocket, peer: DeviceAddress, mtu: Int)
    }

    private let watch: WatchedDescriptor
    private let loop: EpollLoop
    private(set) var role: Role
    private var isReading = true
    /// The bytes that the kernel has not taken, and how many of the first ones it has.
    private var unsent: [[UInt8]] = []
    private var sentOfFirst = 0
    /// Gets the events of the loop.
    var onReport: (Report) -> Void = { _ in }

    /// Takes ownership of a descriptor, and closes it if it can't be watched.
    init(_ descriptor: Int32, _ role: Role, on loop: EpollLoop) throws(ChannelSocketFailure) {
      var ready: (Readiness) -> Void = { _ in }
      do throws(SystemError) {
        watch = try WatchedDescriptor(owning: descriptor, on: loop) { ready($0) }
      } catch {
        throw .other(error.text)
      }
      self.loop = loop
      self.role = role
      // Sends are complete when the kernel has taken them: it takes few, so that most have left by then.
      var size = Self.sendBufferSize
      _ = unsafe setsockopt(
        descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
      ready = { [weak self] in self?.ready($0) }
    }

    // MARK: Making

    /// Begins to open a channel.
    static func connect(
      from local: DeviceAddress, to remote: L2CAPSocketAddress, on loop: EpollLoop
    ) throws(ChannelSocketFailure) -> ChannelSocket {
      let descriptor = try makeDescriptor()
      do throws(SystemError) {
        try bind(descriptor, L2CAPSocketAddress(local, psm: 0))
        try set(descriptor, receiveMTUOption, [UInt8(receiveMTU & 0xFF), UInt8(receiveMTU >> 8)])
        let status = unsafe withAddress(remote) { unsafe Glibc.connect(descriptor, $0, $1) }
        guard status == 0 || errno == EINPROGRESS else { throw .current }
      } catch {
        Glibc.close(descriptor)
        throw failure(error.number)
      }
      let socket = try ChannelSocket(descriptor, .connecting, on: loop)
      socket.watch.interest = .writable
      return socket
    }

    /// Listens on a PSM, or on the first free one.
    static func listen(
      on local: DeviceAddress, psm: UInt16?, requiresEncryption: Bool, on loop: EpollLoop
    ) throws(ChannelSocketFailure) -> (socket: ChannelSocket, psm: UInt16) {
      let descriptor = try makeDescriptor()
      let used: UInt16
      do throws(SystemError) {
        used = try bindFirst(descriptor, local, psms: psm.map { $0...$0 } ?? dynamicPSMs)
        try set(descriptor, receiveMTUOption, [UInt8(receiveMTU & 0xFF), UInt8(receiveMTU >> 8)])
        if requiresEncryption { try set(descriptor, securityOption, [mediumSecurity, 0]) }
        guard Glibc.listen(descriptor, backlog) == 0 else { throw .current }
      } catch {
        Glibc.close(descriptor)
        throw failure(error.number)
      }
      return (try ChannelSocket(descriptor, .listening, on: loop), used)
    }

    private static func makeDescriptor() throws(ChannelSocketFailure) -> Int32 {
      let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      let descriptor = socket(Int32(L2CAPSocketAddress.family), type, protocolNumber)
      if descriptor >= 0 { return descriptor }
      let error = SystemError.current
      // The kernel has such sockets, but no descriptor for this one now.
      throw DescriptorShortage(errorNumber: error.number) == nil
        ? .isUnavailable(error.text) : .other(error.text)
    }

    private static func bindFirst(
      _ descriptor: Int32, _ local: DeviceAddress, psms: ClosedRange<UInt16>
    ) throws(SystemError) -> UInt16 {
      for psm in psms {
        do throws(SystemError) {
          try bind(descriptor, L2CAPSocketAddress(local, psm: psm))
          return psm
        } catch  where error.number != EADDRINUSE || psm == psms.upperBound {
          throw error
        } catch {}
      }
      throw SystemError(number: EADDRINUSE)
    }

    private static func bind(
      _ descriptor: Int32, _ address: L2CAPSocketAddress
    ) throws(SystemError) {
      let status = unsafe withAddress(address) { unsafe Glibc.bind(descriptor, $0, $1) }
      guard status == 0 else { throw .current }
    }

    private static func withAddress(
      _ address: L2CAPSocketAddress, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
      unsafe address.bytes.withUnsafeBytes { bytes in
        guard let start = bytes.baseAddress else { return -1 }
        return unsafe body(
          start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
      }
    }

    private static func set(
      _ descriptor: Int32, _ option: Int32, _ value: [UInt8]
    ) throws(SystemError) {
      let status = unsafe value.withUnsafeBytes {
        unsafe setsockopt(
          descriptor, optionLevel, option, $0.baseAddress, socklen_t($0.count))
      }
      guard status == 0 else { throw .current }
    }

    private static func failure(_ number: Int32) -> ChannelSocketFailure {
      switch number {
      case ECONNREFUSED: .refused
      case EACCES, EPERM, ENOKEY: .needsSecurity
      case ECONNRESET, EPIPE, ESHUTDOWN: .closedByPeer
      case ETIMEDOUT: .timedOut
      case ENOTCONN, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENODEV, ECONNABORTED: .linkLost
      case EADDRINUSE: .isInUse
      case EAFNOSUPPORT, EPROTONOSUPPORT, EOPNOTSUPP:
        .isUnavailable(SystemError(number: number).text)
      default: .other(SystemError(number: number).text)
      }
    }

    // MARK: Events of the loop

    func ready(_ readiness: Readiness) {
      switch role {
      case .connecting: finishConnecting()
      case .listening: acceptAll()
      case .open:
        if readiness.contains(.writable) {
          for event in flush() { onReport(.event(event)) }
        }
        if watch.isOpen, readiness.contains(.readable) { readAll() }
      }
    }

    private func finishConnecting() {
      var number: Int32 = 0
      var length = socklen_t(MemoryLayout<Int32>.size)
      let status = unsafe getsockopt(watch.descriptor, SOL_SOCKET, SO_ERROR, &number, &length)
      guard status == 0, number == 0 else { return end(status == 0 ? number : errno) }
      guard let mtu else { return end(ENOTCONN) }
      role = .open(mtu: mtu)
      updateInterest()
      onReport(.event(.opened(peerMTU: mtu)))
    }

    /// The longest SDU that the peer takes; nil where the channel is not open.
    private var mtu: Int? {
      var value: UInt16 = 0
      var length = socklen_t(MemoryLayout<UInt16>.size)
      let status = unsafe getsockopt(
        watch.descriptor, Self.optionLevel, Self.sendMTUOption, &value, &length)
      return status == 0 && value > 0 ? Int(value) : nil
    }

    private func acceptAll() {
      for _ in 0..<Self.turnCountMax where watch.isOpen {
        var address = [UInt8](repeating: 0, count: L2CAPSocketAddress.byteCount)
        var length = socklen_t(address.count)
        let descriptor = unsafe address.withUnsafeMutableBytes { bytes in
          unsafe accept(
            watch.descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard descriptor >= 0 else {
          switch errno {
          case EINTR, ECONNABORTED: continue
          case EAGAIN: break
          case EMFILE, ENFILE, ENOMEM, ENOBUFS:
            let number = errno
            if number == EMFILE, DescriptorLimit.hasRoom() { continue }
            DescriptorShortage.report(number)
            pauseAccepting()
          default: end(errno)
          }
          return
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        guard fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0,
          let peer = L2CAPSocketAddress(bytes: address[...])?.device
        else {
          Glibc.close(descriptor)
          continue
        }
        // A descriptor that can't be watched is closed by then.
        guard let socket = try? ChannelSocket(descriptor, .connecting, on: loop) else { continue }
        guard let mtu = socket.mtu else {
          socket.close()
          continue
        }
        socket.role = .open(mtu: mtu)
        onReport(.accepted(socket, peer: peer, mtu: mtu))
      }
    }

    /// Leaves peers' channels to the kernel for a moment: there is no descriptor or memory for them.
    private func pauseAccepting() {
      watch.interest = []
      loop.schedule(in: Self.acceptingPause) { [weak self] in
        if let self, watch.isOpen { watch.interest = .readable }
      }
    }

    /// Reads an SDU into a buffer; returns the result of the system call.
    private func read(into bytes: inout [UInt8]) -> Int {
      unsafe bytes.withUnsafeMutableBytes {
        unsafe Glibc.read(watch.descriptor, $0.baseAddress, $0.count)
      }
    }

    private func readAll() {
      var bytes = [UInt8](repeating: 0, count: Int(Self.receiveMTU))
      var hasFailed = false
      for _ in 0..<Self.turnCountMax where watch.isOpen {
        let count = read(into: &bytes)
        if count > 0 {
          onReport(.event(.received(Array(bytes[..<count]))))
          continue
        }
        if count < 0, errno == EINTR { continue }
        if count < 0, errno == EAGAIN {
          if hasFailed { end(ECONNRESET) }
          return
        }
        // The kernel reports the end, once, before the bytes that have come before it.
        guard count == 0 || errno == ECONNRESET, !hasFailed else {
          return end(count == 0 ? ECONNRESET : errno)
        }
        hasFailed = true
      }
    }

    /// What the peer has sent before it closed the channel: a send that fails since then would hide it.
    private func readRest() -> [ChannelSocketEvent] {
      var bytes = [UInt8](repeating: 0, count: Int(Self.receiveMTU))
      var events: [ChannelSocketEvent] = []
      var hasFailed = false
      while events.count < Self.restCountMax {
        let count = read(into: &bytes)
        if count > 0 {
          events.append(.received(Array(bytes[..<count])))
        } else if count == 0 || errno == ECONNRESET, !hasFailed {
          // The kernel reports the end, once, before the bytes.
          hasFailed = true
        } else if count == 0 || errno != EINTR {
          break
        }
      }
      return events
    }

    // MARK: Sending

    /// Sends bytes, or keeps those for which the kernel has no room. Returns the events.
    func send(_ bytes: [UInt8]) -> [ChannelSocketEvent] {
      unsent.append(bytes)
      return unsent.count == 1 ? flush() : []
    }

    private func flush() -> [ChannelSocketEvent] {
      guard case .open(let mtu) = role, watch.isOpen else { return [] }
      var count = 0
      var events: [ChannelSocketEvent] = []
      sending: for _ in 0..<Self.turnCountMax {
        guard let first = unsent.first else { break }
        let part = first[sentOfFirst...].prefix(mtu)
        let written = unsafe part.withUnsafeBytes {
          unsafe Glibc.send(
            watch.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if written < 0 {
          if errno == EINTR { continue }
          if errno != EAGAIN {
            let failure = Self.failure(errno)
            events = readRest() + [.ended(failure)]
            watch.close()
          }
          break sending
        }
        count += part.count
        sentOfFirst += part.count
        if sentOfFirst >= first.count {
          unsent.removeFirst()
          sentOfFirst = 0
        }
      }
      updateInterest()
      return (count > 0 ? [.sent(count)] : []) + events
    }

    func setReading(_ isReading: Bool) {
      guard Self.kernelHoldsPeersBack else { return }
      self.isReading = isReading
      updateInterest()
    }

    private func updateInterest() {
      guard case .open = role, watch.isOpen else { return }
      var interest: Readiness = isReading ? .readable : []
      if !unsent.isEmpty { interest.insert(.writable) }
      watch.interest = interest
    }

    // MARK: The end

    private func end(_ number: Int32) {
      guard watch.isOpen else { return }
      watch.close()
      onReport(.event(.ended(Self.failure(number))))
    }

    func close() {
      onReport = { _ in }
      watch.close()
    }

    /// How long the kernel may take to send what it has, and how often that is looked at: it reports nothing.
    private static let drainMax = TimeSpan.seconds(2)
    private static let drainPause = TimeSpan.milliseconds(10)

    /// Closes the socket when the kernel has sent its bytes, which it would drop otherwise, then calls `completion`.
    func closeWhenSent(_ completion: @escaping () -> Void) {
      onReport = { _ in }
      unsent = []
      if watch.isOpen { watch.interest = [] }
      drain(until: .now + Self.drainMax, completion)
    }

    private func drain(until deadline: Instant, _ completion: @escaping () -> Void) {
      guard watch.isOpen, case .open = role, hasBytesInKernel, .now < deadline else {
        watch.close()
        return completion()
      }
      loop.schedule(in: Self.drainPause) { self.drain(until: deadline, completion) }
    }

    /// Whether packets of the socket wait for credits or the controller.
    private var hasBytesInKernel: Bool {
      var (free, size, error): (Int32, Int32, Int32) = (0, 0, 0)
      var length = socklen_t(MemoryLayout<Int32>.size)
      guard unsafe ioctl(watch.descriptor, Self.freeSpaceRequest, &free) == 0,
        unsafe getsockopt(watch.descriptor, SOL_SOCKET, SO_SNDBUF, &size, &length) == 0,
        unsafe getsockopt(watch.descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0
      else { return false }
      return error == 0 && free < size
    }
  }
#endif
