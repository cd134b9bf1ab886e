import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Dispatch
import Essentials
import Foundation
import Glibc
import PeripheralFiles

/// Runs the live view: passes keys to it, executes its effects, draws it.
final class LiveScreen: Sendable {
  private enum Event: Sendable {
    case keys([UInt8])
    case inputEnded
    /// Nothing followed an escape for a moment.
    case pause
    case draw
    /// The terminal changed its size, or was used by another program for a while.
    case redraw
    /// Something happened to the device that was opened with these values.
    case device(ArrivedValues, KeptDevice.Event)
    /// Values have arrived.
    case values(ArrivedValues)
    case pairing(HostEvent)
    /// What a library logged, such as the display of a simulated device.
    case note(String)
    /// What a task found out for a device.
    case detail(KeptDevice, @Sendable (inout DetailView) -> Void)
  }

  /// Ages and strengths move on without events.
  private static let tick = Duration.milliseconds(500)
  /// The bytes of a key's sequence follow each other faster, over slow lines too.
  private static let escapeTime = Duration.milliseconds(60)
  /// At most so often is the screen drawn for values, which may come by the thousand.
  private static let valueTime = Duration.milliseconds(50)

  /// The open device. Results of a closed device are ignored, even those of the same device over
  /// an earlier link.
  private struct Open {
    var device: KeptDevice
    var arrived: ArrivedValues
    var link: Task<Void, any Error>
  }

  private let central: Central
  private let session: Session
  private let surroundings: Surroundings
  private let clock: MonotonicClock
  private let events: AsyncStream<Event>
  private let post: AsyncStream<Event>.Continuation

  init(
    _ central: Central, _ session: Session, _ surroundings: Surroundings, _ clock: MonotonicClock
  ) {
    self.central = central
    self.session = session
    self.surroundings = surroundings
    self.clock = clock
    (events, post) = AsyncStream.makeStream()
  }

  /// Shows the view until it is quit or the task is cancelled.
  func run() async throws {
    Terminal.enterFullScreen(readsKeys: true)
    defer { Terminal.restore() }
    Output.handNotes(to: { [post] in post.yield(.note($0)) })
    defer { Output.handNotes(to: nil) }
    Interrupts.shared.onRedraw { [post] in post.yield(.redraw) }
    defer { Interrupts.shared.onRedraw {} }
    let input = watchInput()
    defer { input?.cancel() }
    let ticker = Task { [post] in
      while true {
        try await Task.sleep(for: Self.tick)
        post.yield(.draw)
      }
    }
    defer { ticker.cancel() }
    let agent = pairingAgent()
    defer { agent.close() }
    try await handleEvents(agent)
  }

  private func watchInput() -> (any DispatchSourceRead)? {
    guard Terminal.isTerminal(STDIN_FILENO) else { return nil }
    let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO)
    source.setEventHandler { [post] in
      var bytes = [UInt8](repeating: 0, count: 256)
      let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
      if count > 0 {
        Self.post(bytes[..<count], to: post)
      } else {
        source.cancel()
        post.yield(.inputEnded)
      }
    }
    source.resume()
    return source
  }

  /// Posts keys, in order with Ctrl-C and Ctrl-Z, which also work while the view waits. Nothing behind a Ctrl-C
  /// is a key of the view.
  private static func post(
    _ bytes: ArraySlice<UInt8>, to post: AsyncStream<Event>.Continuation
  ) {
    let (interrupt, stop) = (UInt8(0x03), UInt8(0x1A))
    let end = bytes.firstIndex { $0 == interrupt || $0 == stop } ?? bytes.endIndex
    if end > bytes.startIndex { post.yield(.keys(Array(bytes[..<end]))) }
    guard end < bytes.endIndex else { return }
    guard bytes[end] == stop else { return Interrupts.shared.interruptByKey() }
    Interrupts.shared.stopByKey()
    Self.post(bytes[(end + 1)...], to: post)
  }

  /// Makes this screen the host's pairing agent, unless no pairings are accepted: it only shows that then.
  private func pairingAgent() -> any HostSession {
    let agent = session.host.openSession { [post] event in
      switch event {
      case .pairingPrompt, .pairingEnded: post.yield(.pairing(event))
      default: break
      }
    }
    if session.answersPairing { agent.send(.setPairingAgent(.keyboardDisplay)) }
    return agent
  }

  private func show(_ event: HostEvent, in view: inout LiveView) {
    switch event {
    case .pairingPrompt(let peer, let prompt, let id):
      session.decisions.asked(peer, id)
      view.ask(PairingQuestion(peer: peer, prompt: prompt, id: id))
    case .pairingEnded(let peer, let failure):
      view.pairingEnded(with: peer)
      if let failure {
        view.show("Pairing with \(peer) failed: \(session.decisions.sentence(failure, of: peer))")
      }
    default: break
    }
  }

  private func handleEvents(_ agent: (any HostSession)?) async throws {
    var view = LiveView()
    var decoder = KeyDecoder()
    var open: Open?
    var listed: [String] = []
    var isAnew = true
    defer { open?.link.cancel() }
    draw(&view, &listed, isAnew: true)
    for await event in events {
      switch event {
      case .draw: break
      case .redraw: isAnew = true
      // The terminal is gone.
      case .inputEnded: return
      case .keys(let bytes):
        let keys = decoder.decode(bytes)
        if decoder.isPending { pauseSoon() }
        for key in keys where await press(key, &view, listed, &open, agent) == .quit { return }
      case .pause:
        for key in decoder.flush()
        where await press(key, &view, listed, &open, agent) == .quit { return }
      case .pairing(let event): show(event, in: &view)
      case .note(let sentence): view.show(sentence)
      case .device(let arrived, let event):
        guard let current = open, current.arrived === arrived else { continue }
        show(event, of: current.device, in: &view)
      case .values(let arrived):
        guard open?.arrived === arrived else { continue }
        show(arrived.take(), in: &view)
      case .detail(let device, let change):
        guard open?.device === device, var detail = view.detail else { continue }
        change(&detail)
        view.detail = detail
      }
      draw(&view, &listed, isAnew: isAnew)
      isAnew = false
    }
    // Cancelled: the link of an open device ends in good order.
    open?.link.cancel()
    _ = await open?.link.result
  }

  private func pauseSoon() {
    Task { [post] in
      try await Task.sleep(for: Self.escapeTime)
      post.yield(.pause)
    }
  }

  // MARK: Drawing

  private func draw(_ view: inout LiveView, _ listed: inout [String], isAnew: Bool) {
    let state = central.state
    let now = clock.now
    let table = surroundings.devices.update { table in
      table.forget(now: now)
      return table
    }
    let beacons = surroundings.beacons.update { survey in
      survey.setScanning(state == .poweredOn, now: now)
      _ = survey.wake(now: now)
      return BeaconList(survey)
    }
    let before = listed
    listed = view.filtered(table.ordered(now: now)).filter { !beacons.shows($0, now: now) }
      .map(\.sighting.identifier)
    view.update(listed, before: before)
    let screen = NearbyScreen(
      size: Terminal.size, style: session.output.style,
      radio: session.radioTitle,
      problem: state == .poweredOn ? nil : RadioFailure.failure(state, session.host).sentence,
      view: view)
    Terminal.draw(
      screen.lines(table, surroundings.network.value, beacons: beacons, now: now), isAnew: isAnew)
  }

  // MARK: Effects of the view

  private func press(
    _ key: Key, _ view: inout LiveView, _ listed: [String], _ open: inout Open?,
    _ agent: (any HostSession)?
  ) async -> LiveView.Effect? {
    let effect = view.press(key, devices: listed, page: max(1, Terminal.size.rows - 6))
    switch effect {
    case .open(let identifier): open = self.open(identifier, &view)
    case .close:
      open?.link.cancel()
      open = nil
    case .reconnect: open?.device.reconnect()
    case .read(let key): if let open { read(key, of: open.device) }
    case .toggleSubscription(let key): if let open { toggle(key, of: open.device, &view) }
    case .write(let key, let text): if let open { write(text, to: key, of: open.device) }
    case .answer(let prompt, let answer):
      session.decisions.answered(prompt, answer)
      agent?.send(.answerPairing(prompt, answer))
    case .quit:
      open?.link.cancel()
      _ = await open?.link.result
    case nil: break
    }
    return effect
  }

  private func open(_ identifier: String, _ view: inout LiveView) -> Open? {
    guard let sighting = surroundings.devices.value[identifier]?.sighting else { return nil }
    view.detail = DetailView(title: sighting.name ?? sighting.shortID, state: "connecting …")
    guard sighting.isConnectable != false else {
      view.detail?.state = "takes no connections"
      return nil
    }
    let search = Search(name: DeviceName(text: identifier), session: session.silent)
    let arrived = ArrivedValues()
    let device = KeptDevice(sighting, search, central) { [post] event in
      if case .value(let key, let bytes) = event {
        if arrived.keep(bytes, of: key) { Self.showSoon(arrived, post) }
      } else {
        post.yield(.device(arrived, event))
      }
    }
    return Open(device: device, arrived: arrived, link: Task { try await device.run() })
  }

  private func show(_ event: KeptDevice.Event, of device: KeptDevice, in view: inout LiveView) {
    switch event {
    case .connecting: view.detail?.state = "connecting …"
    case .connected:
      view.detail?.state = "connected; discovering …"
      discover(device)
    case .lost(let reason, let reconnects):
      view.detail?.state = reconnects ? "\(reason); connecting again …" : reason
    case .lostBond(let reason): view.detail?.state = reason + "; c connects again"
    case .value: break
    case .subscriptionEnded(let key, let reason):
      view.detail?.message = reason
      view.detail?.update(key) { $0.isFollowed = false }
    }
  }

  /// Shows values when the screen is drawn again, which is soon.
  private static func showSoon(
    _ arrived: ArrivedValues, _ post: AsyncStream<Event>.Continuation
  ) {
    Task {
      try? await Task.sleep(for: valueTime)
      post.yield(.values(arrived))
    }
  }

  private func show(
    _ values: [KeptDevice.Key: ArrivedValues.Arrived], in view: inout LiveView
  ) {
    for (key, arrived) in values {
      view.detail?.update(key) { row in
        row.value = ValueText(arrived.value, characteristic: row.type)
        row.refusal = nil
        row.count += arrived.count
      }
    }
  }

  /// Lists what the device has, then reads what can be read, one after the other.
  private func discover(_ device: KeptDevice) {
    work(device) { device in
      let services = try await device.discoverAll()
      let followed = device.subscriptions
      self.change(device) { detail in
        detail.state = "connected"
        detail.show(services, followed: followed)
      }
      for (number, service) in services.enumerated() {
        for (place, characteristic) in (service.characteristics ?? []).enumerated()
        where characteristic.properties.contains(.read) {
          await self.readOnce(
            KeptDevice.Key(service: number, characteristic: place), of: device)
        }
      }
    }
  }

  private func read(_ key: KeptDevice.Key, of device: KeptDevice) {
    work(device) { await self.readOnce(key, of: $0) }
  }

  private func readOnce(_ key: KeptDevice.Key, of device: KeptDevice) async {
    do {
      let bytes = try await device.read(key)
      change(device) { detail in
        detail.update(key) { row in
          row.value = ValueText(bytes, characteristic: row.type)
          row.refusal = nil
        }
      }
    } catch {
      let reason = (error as? CommandFailure)?.reason ?? "\(error)"
      change(device) { detail in detail.update(key) { $0.refusal = reason } }
    }
  }

  private func toggle(
    _ key: KeptDevice.Key, of device: KeptDevice, _ view: inout LiveView
  ) {
    let isFollowed = device.subscriptions.contains(key)
    view.detail?.update(key) { $0.isFollowed = !isFollowed }
    if isFollowed { return device.unsubscribe(key) }
    work(device) { try await $0.subscribe(key) }
  }

  private func write(_ text: String, to key: KeptDevice.Key, of device: KeptDevice) {
    work(device) { device in
      let characteristic = try await device.characteristic(key)
      let uuid = BluetoothUUID(characteristic.uuid)
      let bytes = try ValueInput(typed: text).bytes(for: uuid, choice: nil)
      try await device.write(bytes, to: key)
      let count = bytes.count
      self.change(device) { $0.state = "connected; wrote \(count) byte\(count == 1 ? "" : "s")" }
      if characteristic.properties.contains(.read) { await self.readOnce(key, of: device) }
    }
  }

  /// Runs an operation on the device, for at most `Session.workTime`; shows its error.
  private func work(
    _ device: KeptDevice, _ body: @escaping @Sendable (KeptDevice) async throws -> Void
  ) {
    Task {
      do {
        let done: Void? = try await race(Session.workTime.duration) { try await body(device) }
        if done == nil { change(device) { $0.message = "The device does not answer." } }
      } catch is CancellationError {
      } catch {
        let reason = "\(error)"
        change(device) { $0.message = reason }
      }
    }
  }

  private func change(
    _ device: KeptDevice, _ change: @escaping @Sendable (inout DetailView) -> Void
  ) {
    post.yield(.detail(device, change))
  }
}
