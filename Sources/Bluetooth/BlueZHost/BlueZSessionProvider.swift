#if BlueZ
  package import BlueZMachines
  package import BluetoothInterface
  import Essentials
  package import EventLoop
  package import Logging

  /// Opens sessions with a host over bluetoothd's D-Bus interfaces, as an ordinary user, beside other programs that
  /// use its radio (docs/bluez.md).
  ///
  /// A bluetoothd that ends is a radio that is gone and comes back. All methods may be called from any thread; events
  /// are delivered on the loop.
  package final class BlueZSessionProvider: HostSessionProvider {
    /// The choice of the radio.
    package let radio: BlueZRadio
    private let driver: BlueZDriver

    /// Creates a provider that connects with the bus when the first session is opened.
    ///
    /// - Parameters:
    ///   - radio: The choice of the adapter.
    ///   - busAddress: The address of the bus; nil for the system's, or that in `DBUS_SYSTEM_BUS_ADDRESS`.
    ///   - loop: The loop on which events are delivered.
    ///   - logger: Gets the reason why the radio can't be used, one sentence each.
    package init(
      _ radio: BlueZRadio, busAddress: String? = nil, loop: EpollLoop = .shared,
      logger: Logger = Logger(label: "ambit.bluez")
    ) {
      self.radio = radio
      driver = BlueZDriver(
        adapter: radio.adapter, address: busAddress, loop: loop, logger: logger)
    }

    /// Creates the provider that a value of `AMBIT_RADIO` names; nil for the name of another radio. An invalid adapter
    /// is one that bluetoothd doesn't have.
    package convenience init?(named name: String) {
      do throws(BlueZRadioError) {
        guard let radio = try BlueZRadio(parsing: name) else { return nil }
        self.init(radio)
      } catch {
        let logger = Logger(label: "ambit.bluez")
        logger.error("AMBIT_RADIO: \(error)")
        self.init(BlueZRadio(adapter: String(name.dropFirst("bluez:".count))), logger: logger)
      }
    }

    /// Creates the provider of a program that names no radio and may open no controller alone; nil where the machine
    /// has no controller, bus or bluetoothd, and with a setting that bluetoothd can't fulfil
    /// (docs/decisions/0260-the-default-order-of-radios.md).
    ///
    /// - Parameter reason: Why no controller may be opened alone, as a sentence, for the log.
    package convenience init?(whereNoRadioIsNamed reason: String) {
      let logger = Logger(label: "ambit.bluez")
      guard BlueZPresence.hasControllerAndBus(), BlueZPresence.isDaemonInstalled(),
        BlueZPresence.settingsOfHosts.allSatisfy({ ProcessEnvironment.value($0) == nil })
      else { return nil }
      logger.notice("No radio was named, and bluetoothd's is used: \(reason)")
      self.init(BlueZRadio(), logger: logger)
    }

    deinit { driver.stop() }

    /// bluetoothd's radio is a real one.
    package var isSimulated: Bool { false }

    /// The reason why the radio can't be used, in one sentence; nil if no problem is known.
    package var problem: String? { driver.problem }

    /// Opens a session. `settle` is not called, because bluetoothd's time is the real one. The name has no use,
    /// because the host ends with the process.
    package func openSession(
      name: String, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
      onEvents: @escaping @Sendable ([HostEvent]) -> Void
    ) -> any HostSession {
      BlueZSession(
        provider: self, driver: driver,
        slot: driver.open(acknowledgesEvents: acknowledgesEvents, onEvents: onEvents))
    }

    /// Opens a session of another program, which answers and hears of the pairings that it causes. It acknowledges
    /// events.
    package func openSession(
      of program: BlueZProgramID, onEvents: @escaping @Sendable ([HostEvent]) -> Void
    ) -> any HostSession {
      BlueZSession(
        provider: self, driver: driver,
        slot: driver.open(acknowledgesEvents: true, program: program, onEvents: onEvents))
    }

    /// The identifier of a session of this provider; nil for another one.
    package func identifier(of session: any HostSession) -> BlueZSessionID? {
      (session as? BlueZSession)?.id
    }

    /// The current problem, or nil, and each change. A slow consumer gets only the latest one.
    package func problems() -> AsyncStream<String?> { driver.problems() }

    /// The state of the host at one moment.
    package func snapshot() async -> BlueZSnapshot {
      await withCheckedContinuation { continuation in
        driver.readSnapshot { continuation.resume(returning: $0) }
      }
    }

    /// Ends all sessions, their links and their discovery. Clients get no more events when this returns.
    package func close() async {
      await withCheckedContinuation { continuation in driver.stop { continuation.resume() } }
    }
  }

  /// A session over bluetoothd.
  private final class BlueZSession: HostSession {
    /// Lives at least as long as its sessions.
    private let provider: BlueZSessionProvider
    private let driver: BlueZDriver
    private let slot: BlueZSlot

    init(provider: BlueZSessionProvider, driver: BlueZDriver, slot: BlueZSlot) {
      self.provider = provider
      self.driver = driver
      self.slot = slot
    }

    deinit { close() }

    var id: BlueZSessionID { slot.id }

    var loop: any SessionLoop { BlueZLoop(loop: driver.loop) }

    func send(_ request: HostRequest) {
      if slot.isOpen { driver.post(.request(slot.id, request)) }
    }

    func eventsHandled(_ count: Int) {
      if slot.isOpen { driver.post(.handled(slot.id, count: count)) }
    }

    /// Real time does not wait for the work.
    func hasWork() {}

    func close() {
      if slot.close() { driver.post(.closed(slot.id)) }
    }
  }

  /// The loop of sessions: an epoll loop with the real, monotonic clock.
  private struct BlueZLoop: SessionLoop {
    let loop: EpollLoop

    var now: Instant { .now }
    var calendarTime: Double { CalendarTime.now }

    func execute(_ work: @escaping @Sendable () -> Void) { loop.execute(work) }

    func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer {
      loop.makeTimer(onFire)
    }
  }
#endif
