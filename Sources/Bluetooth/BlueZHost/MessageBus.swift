#if BlueZ
  package import BlueZMachines
  internal import CSystemd
  import Essentials
  package import EventLoop
  import Glibc

  /// A connection with a message bus, by sd-bus (sd-bus(3)). Used on its loop only; its owner must call ``close()``.
  ///
  /// sd-bus matches no replies here: each message comes out of `sd_bus_process`, and is a value before anything else
  /// happens. So no C function calls back into this program.
  @safe
  package final class MessageBus {
    /// What the bus delivers.
    package enum Event {
      /// The connection can be used.
      case opened
      case reply(BusCallID, Result<[BusValue], BusError>)
      case signal(BusSignal)
      /// Another program calls a method of this one.
      case call(IncomingCall)
      /// All signals that were there have been delivered, or as many as are handled at a time.
      case signalsDelivered
      /// The connection could not be made, or has ended; the reason is a sentence.
      case closed(String)
    }

    private let address: String
    private let loop: EpollLoop
    private let onEvent: (Event) -> Void
    private var bus: OpaquePointer?
    private(set) var watch: WatchedDescriptor?
    private lazy var timer = loop.makeTimer { [weak self] in self?.process() }
    /// The calls without a reply, by the serial numbers of their messages.
    private var calls: [UInt64: BusCallID] = [:]
    private var isReady = false
    private var hasSignals = false
    // Most signals repeat these texts of the one before.
    private var sender = RepeatedText()
    private var path = RepeatedText()
    private var interface = RepeatedText()
    private var member = RepeatedText()

    /// Messages that are handled before other things of the loop.
    private static let messageCountMax = 128

    /// Creates a connection that is not open.
    ///
    /// - Parameters:
    ///   - address: The address of the bus; nil for the system's, which `DBUS_SYSTEM_BUS_ADDRESS` may name.
    ///   - loop: The loop on which it is used.
    ///   - onEvent: Called on the loop, never within a method of this object other than its own work.
    package init(
      address: String?, on loop: EpollLoop, onEvent: @escaping (Event) -> Void
    ) {
      self.address =
        address ?? ProcessEnvironment.value("DBUS_SYSTEM_BUS_ADDRESS")
        ?? "unix:path=/run/dbus/system_bus_socket"
      self.loop = loop
      self.onEvent = onEvent
    }

    /// Begins to connect. `opened` or `closed` follows.
    package func open() {
      guard unsafe bus == nil else { return }
      var status = unsafe sd_bus_new(&bus)
      if status >= 0 { status = unsafe sd_bus_set_address(bus, address) }
      if status >= 0 { status = unsafe sd_bus_set_bus_client(bus, 1) }
      if status >= 0 { status = unsafe sd_bus_start(bus) }
      if status >= 0 { status = watchDescriptor() }
      if status < 0 { endLater(status) }
    }

    private func watchDescriptor() -> Int32 {
      // sd-bus closes its own.
      let descriptor = unsafe fcntl(sd_bus_get_fd(bus), F_DUPFD_CLOEXEC, 0)
      guard descriptor >= 0 else { return -errno }
      do throws(SystemError) {
        watch = try WatchedDescriptor(owning: descriptor, on: loop) { [weak self] _ in
          self?.process()
        }
      } catch {
        return -error.number
      }
      loop.schedule(in: .zero) { [weak self] in self?.process() }
      return 0
    }

    /// Closes the connection. No event follows. Sent messages are in the socket by then, unless the bus reads nothing:
    /// that is not waited for.
    package func close() {
      watch?.close()
      watch = nil
      timer.cancel()
      calls = [:]
      isReady = false
      if let bus = unsafe bus { _ = unsafe sd_bus_close_unref(bus) }
      unsafe bus = nil
    }

    // MARK: Receiving

    private func process() {
      var count = 0
      while let bus = unsafe bus {
        guard count < Self.messageCountMax else {
          loop.schedule(in: .zero) { [weak self] in self?.process() }
          break
        }
        count += 1
        var message: OpaquePointer?
        let status = unsafe sd_bus_process(bus, &message)
        if let message = unsafe message {
          unsafe received(message)
          _ = unsafe sd_bus_message_unref(message)
        }
        if status < 0 { return end(status) }
        if !isReady, unsafe self.bus != nil, unsafe sd_bus_is_ready(bus) > 0 {
          isReady = true
          onEvent(.opened)
        }
        if status == 0 { break }
      }
      if hasSignals {
        hasSignals = false
        onEvent(.signalsDelivered)
      }
      wait()
    }

    /// Lets the loop wait for what sd-bus waits for.
    private func wait() {
      guard let bus = unsafe bus else { return }
      let events = unsafe sd_bus_get_events(bus)
      guard events >= 0 else { return endLater(events) }
      var interest: Readiness = []
      if events & Int32(POLLIN) != 0 { interest.insert(.readable) }
      if events & Int32(POLLOUT) != 0 { interest.insert(.writable) }
      watch?.interest = interest
      var microseconds = UInt64.max
      if unsafe sd_bus_get_timeout(bus, &microseconds) >= 0, microseconds != .max {
        timer.set(.zero + .microseconds(Int64(clamping: microseconds)))
      }
    }

    private func received(_ message: OpaquePointer) {
      var type: UInt8 = 0
      guard unsafe sd_bus_message_get_type(message, &type) >= 0 else { return }
      switch MessageType(rawValue: type) {
      case .reply, .error:
        var serial: UInt64 = 0
        guard unsafe sd_bus_message_get_reply_cookie(message, &serial) >= 0,
          let id = calls.removeValue(forKey: serial)
        else { return }
        onEvent(.reply(id, unsafe result(of: message, isError: type == MessageType.error.rawValue)))
      case .signal:
        guard let sender = unsafe sender.text(sd_bus_message_get_sender(message)),
          let path = unsafe path.text(sd_bus_message_get_path(message)),
          let interface = unsafe interface.text(sd_bus_message_get_interface(message)),
          let member = unsafe member.text(sd_bus_message_get_member(message)),
          let arguments = unsafe MessageReader(message).arguments()
        else { return }
        hasSignals = true
        onEvent(
          .signal(
            BusSignal(
              sender: sender, path: path, interface: interface, member: member,
              arguments: arguments)))
      case .call: onEvent(.call(unsafe IncomingCall(message)))
      case nil: break
      }
    }

    private func result(
      of message: OpaquePointer, isError: Bool
    ) -> Result<[BusValue], BusError> {
      if isError {
        let error = unsafe sd_bus_message_get_error(message)
        return .failure(
          BusError(
            unsafe Self.text(error?.pointee.name) ?? "",
            unsafe Self.text(error?.pointee.message) ?? ""))
      }
      guard let arguments = unsafe MessageReader(message).arguments() else {
        return .failure(BusError("org.freedesktop.DBus.Error.InconsistentMessage", "malformed"))
      }
      return .success(arguments)
    }

    static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
      unsafe pointer.map { unsafe String(cString: $0) }
    }

    // MARK: Sending

    /// Sends a call; `reply` follows, unless the connection ends.
    package func send(_ call: BusCall, _ id: BusCallID) {
      var message: OpaquePointer?
      var status = unsafe sd_bus_message_new_method_call(
        bus, &message, call.destination, call.path, call.interface, call.member)
      if status >= 0 { status = unsafe MessageWriter(message).append(call.arguments) }
      var serial: UInt64 = 0
      if status >= 0 { status = unsafe transmit(message, &serial) }
      _ = unsafe sd_bus_message_unref(message)
      if serial > 0 {
        calls[serial] = id
      } else if status < 0 {
        let error = BusError("org.freedesktop.DBus.Error.Failed", SystemError(number: -status).text)
        loop.schedule(in: .zero) { [weak self] in
          if let self, unsafe self.bus != nil { self.onEvent(.reply(id, .failure(error))) }
        }
      }
      wait()
    }

    /// Emits a signal.
    ///
    /// - Parameter destination: The only program that gets it; nil for all that want it.
    package func emit(
      _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue],
      to destination: String? = nil
    ) {
      var message: OpaquePointer?
      guard unsafe sd_bus_message_new_signal(bus, &message, path, interface, member) >= 0 else {
        return
      }
      var status = unsafe MessageWriter(message).append(arguments)
      if status >= 0, let destination {
        status = unsafe sd_bus_message_set_destination(message, destination)
      }
      if status >= 0 {
        var serial: UInt64 = 0
        _ = unsafe transmit(message, &serial)
      }
      _ = unsafe sd_bus_message_unref(message)
      wait()
    }

    /// Answers a call.
    package func answer(_ call: IncomingCall, _ result: Result<[BusValue], BusError>) {
      var message: OpaquePointer?
      var status: Int32
      switch result {
      case .success(let values):
        status = unsafe sd_bus_message_new_method_return(call.message, &message)
        if status >= 0 { status = unsafe MessageWriter(message).append(values) }
      case .failure(let error):
        status = unsafe error.name.withCString { name in
          unsafe error.message.withCString { text in
            var error = unsafe sd_bus_error(name: name, message: text, _need_free: 0)
            return unsafe sd_bus_message_new_method_error(call.message, &message, &error)
          }
        }
      }
      var serial: UInt64 = 0
      if status >= 0 { _ = unsafe transmit(message, &serial) }
      _ = unsafe sd_bus_message_unref(message)
      wait()
    }

    /// Sends a message, unless the bus has closed the connection: the serial stays 0 then. After a failed write sd-bus reads
    /// nothing more, and the replies and signals that the bus sent before would be lost. Without a write they are
    /// delivered, and `closed` after them.
    private func transmit(_ message: OpaquePointer?, _ serial: inout UInt64) -> Int32 {
      // POLLHUP needs no request.
      var state = pollfd(fd: watch?.descriptor ?? -1, events: 0, revents: 0)
      guard unsafe poll(&state, 1, 0) <= 0 else { return 0 }
      return unsafe sd_bus_send(bus, message, &serial)
    }

    // MARK: The end

    /// Reports the end in a turn of its own: the owner is just calling.
    private func endLater(_ status: Int32) {
      loop.schedule(in: .zero) { [weak self] in self?.end(status) }
    }

    private func end(_ status: Int32) {
      guard unsafe bus != nil else { return }
      close()
      onEvent(.closed("\(address): \(SystemError(number: -status).text)."))
    }
  }

  /// A text that is not allocated again where it repeats.
  private struct RepeatedText {
    private var last = ""

    mutating func text(_ pointer: UnsafePointer<CChar>?) -> String? {
      guard let pointer = unsafe pointer else { return nil }
      if unsafe last.withCString({ unsafe strcmp($0, pointer) }) != 0 {
        last = unsafe String(cString: pointer)
      }
      return last
    }
  }

  /// The types of messages (D-Bus Specification, Message Format).
  enum MessageType: UInt8 {
    case call = 1
    case reply = 2
    case error = 3
    case signal = 4
  }

  /// A call of a method of this program's.
  @safe
  package final class IncomingCall {
    let message: OpaquePointer

    init(_ message: OpaquePointer) {
      unsafe self.message = unsafe sd_bus_message_ref(message)
    }

    deinit { _ = unsafe sd_bus_message_unref(message) }

    var path: String { unsafe MessageBus.text(sd_bus_message_get_path(message)) ?? "" }
    var interface: String { unsafe MessageBus.text(sd_bus_message_get_interface(message)) ?? "" }
    var member: String { unsafe MessageBus.text(sd_bus_message_get_member(message)) ?? "" }
    var sender: String { unsafe MessageBus.text(sd_bus_message_get_sender(message)) ?? "" }
    /// To be read once.
    var arguments: [BusValue] { unsafe MessageReader(message).arguments() ?? [] }
  }
#endif
