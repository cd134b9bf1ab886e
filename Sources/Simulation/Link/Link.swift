import BluetoothWire
import Essentials

/// The parameters of a new connection.
struct LinkPlan {
  var central: SimulatedController
  var peripheral: SimulatedController
  /// The address that the central used.
  var centralAddress: DeviceAddress
  /// The peripheral as the central sees it.
  var peer: PeerAddress
  var advertiser: Advertiser
  /// Whether the advertiser received the request; else only the central believes in the link.
  var isHeard: Bool
  var phy: PHY
  var timing: ConnectionTimingRequest
}

/// A connection: two ends that meet at connection events (Core 5.4, Vol 6, Part B, §4.5).
final class AirLink {
  unowned let world: World
  let index: Int
  let central: Endpoint
  let peripheral: Endpoint
  private(set) var timing: ConnectionTiming
  /// Which part of the connection events is used.
  private(set) var subrate: Subrate
  /// The event that those in use are counted from.
  private var subrateBase: UInt64 = 0
  /// How many more events are used after one with data.
  private var continuationLeft: UInt16 = 0
  var channels: ChannelMap
  var isDataPaused = false

  /// What its packets begin with on the air.
  let accessAddress: UInt32

  private var generator: SeededGenerator
  /// For encryption alone, so that it doesn't decide which packets are lost.
  private var sessions: SeededGenerator
  private let madeAt: Int64
  private let eventLengthMax: Int64
  private var eventStart: Int64
  private var eventIndex: UInt64 = 0
  /// How far into the present connection event we are, and how many exchanges it has had.
  private var elapsed: Int64 = 0
  private var exchangeCount = 0
  private var skippedCount: UInt16 = 0
  private var token: UInt32 = 0
  private var planned: [Planned] = []
  private var isDeliveryPending = false
  private var isReportPending = false
  private var gain = 0.0
  private var gainEpoch: UInt64 = .max

  /// What changes at a connection event to come, known to both ends.
  enum Change {
    case timing(ConnectionTiming)
    case phys(PHY, PHY)
    case channels(ChannelMap)
    case subrate(Subrate)
  }

  private struct Planned {
    var change: Change
    var instant: UInt64
  }

  init(_ plan: LinkPlan, world: World, index: Int) {
    self.world = world
    self.index = index
    timing = plan.timing.chosen
    subrate = .none(timing)
    channels = plan.central.settings.channels
    let seed = HashedRandom.mix(plan.central.generator.next(), plan.peripheral.site.seed)
    generator = SeededGenerator(seed: seed)
    sessions = SeededGenerator(seed: HashedRandom.mix(seed, 1))
    accessAddress = UInt32(truncatingIfNeeded: HashedRandom.mix(seed, 2))
    madeAt = world.now.nanoseconds
    // A host without a preference sets 0.
    let eventLength = Int64(plan.timing.eventLengthMaxUnits625us) * 625_000
    eventLengthMax = eventLength == 0 ? .max : eventLength
    // The transmit window begins 1.25 ms after the request (Vol 6, Part B, §4.5.3).
    eventStart = madeAt + 1_250_000 + Int64(generator.next() % 1_250_000)
    central = Endpoint(
      controller: plan.central, role: .central,
      handle: plan.central.freeHandle(), peer: plan.peer, isAlive: true, phy: plan.phy)
    peripheral = Endpoint(
      controller: plan.peripheral, role: .peripheral,
      handle: plan.isHeard ? plan.peripheral.freeHandle() : 0,
      peer: plan.peripheral.peer(behind: plan.centralAddress), isAlive: plan.isHeard,
      phy: plan.phy)
    central.owner = self
    peripheral.owner = self
  }

  var isPaced: Bool { world.radio.isPaced }
  private var intervalNanoseconds: Int64 { Int64(timing.intervalUnits1250us) * 1_250_000 }

  func scheduleEvent() {
    token &+= 1
    world.queue.push(
      .connectionEvent, at: eventStart + elapsed, subject: index, token: token)
  }

  /// Something was queued; without pacing it goes at once.
  func wantsDelivery() {
    guard !isPaced, !isDeliveryPending else { return }
    isDeliveryPending = true
    world.requestDelivery(index)
  }

  /// Both ends will do this at an instant that is far enough for both to know.
  func plan(_ change: Change) {
    let instant = isPaced ? eventIndex + Limits.instantEvents : 0
    planned.append(Planned(change: change, instant: instant))
    if !isPaced { applyPlanned() }
  }

  /// A packet's integrity check failed: the link ends without a word on the air
  /// (Core 5.4, Vol 6, Part E, §1).
  func failIntegrity() {
    peripheral.end(.micFailure)
    central.end(.micFailure)
  }

  /// What an end sends of itself to make a session.
  func drawSessionHalf() -> LinkCipher.SessionHalf {
    LinkCipher.SessionHalf(
      keyDiversifier: sessions.next(),
      initializationVector: UInt32(truncatingIfNeeded: sessions.next()))
  }

  private func applyPlanned() {
    while let next = planned.first, next.instant <= eventIndex {
      planned.removeFirst()
      apply(next.change)
    }
  }

  private func apply(_ change: Change) {
    switch change {
    case .timing(let timing):
      self.timing = timing
      // It has to be asked for anew (§5.1.1).
      subrate = .none(timing)
      for end in [central, peripheral] where end.isAlive {
        finish(end) {
          if case .connectionUpdate = $0 {
            true
          } else if case .connectionParameterRequest = $0 {
            true
          } else {
            false
          }
        }
        end.controller.send(LEConnectionUpdateComplete(handle: end.handle, timing: timing))
      }
    case .phys(let toPeripheral, let toCentral):
      applyPHYs(toPeripheral, toCentral)
    case .channels(let channels):
      self.channels = channels
    case .subrate(let subrate):
      applySubrate(subrate)
    }
  }

  private func applySubrate(_ new: Subrate) {
    subrate = new
    subrateBase = eventIndex
    continuationLeft = 0
    timing.latency = new.latency
    timing.timeoutUnits10ms = new.timeoutUnits10ms
    for end in [central, peripheral] where end.isAlive {
      finish(end) {
        if case .subrateRequest = $0 {
          true
        } else if case .subrateIndication = $0 {
          true
        } else {
          false
        }
      }
      end.controller.send(LESubrateChange(handle: end.handle, subrate: new))
    }
  }

  private func applyPHYs(_ toPeripheral: PHY, _ toCentral: PHY) {
    let isChanged =
      central.transmitPHY != toPeripheral || peripheral.transmitPHY != toCentral
    central.transmitPHY = toPeripheral
    peripheral.transmitPHY = toCentral
    for end in [central, peripheral] where end.isAlive {
      let isAsked = finish(end) { if case .phyRequest = $0 { true } else { false } }
      guard isChanged || isAsked else { continue }
      end.controller.send(
        LEPHYUpdateComplete(
          handle: end.handle, transmit: end.transmitPHY,
          receive: end.peerEndpoint.transmitPHY))
    }
  }

  /// Ends the procedure of an end if `isMeant` holds for it; returns whether it did.
  @discardableResult
  private func finish(_ end: Endpoint, if isMeant: (LinkControl) -> Bool) -> Bool {
    guard let procedure = end.procedure, isMeant(procedure) else { return false }
    end.finishProcedure()
    return true
  }
}

// Connection events.
extension AirLink {
  func performEvent(token: UInt32) {
    guard token == self.token else { return }
    if elapsed == 0, exchangeCount == 0 {
      eventIndex += 1
      applyPlanned()
      watch()
      guard isAnybodyThere else { return world.remove(self) }
      if isUnusedEvent || skipsEvent { return finishEvent() }
    }
    let sliceEnd = elapsed + Limits.eventSliceNanoseconds
    let budget = eventBudget
    while true {
      let cost = nextExchangeNanoseconds
      if exchangeCount > 0, elapsed + cost > budget { break }
      if elapsed >= sliceEnd {
        reportCompleted()
        return scheduleEvent()
      }
      let isComplete = exchange()
      elapsed += cost
      exchangeCount += 1
      guard isComplete, central.isAlive, peripheral.isAlive,
        central.hasMore || peripheral.hasMore
      else { break }
    }
    if !isPaced { deliverNow() }
    finishEvent()
  }

  private var isAnybodyThere: Bool { central.isAlive || peripheral.isAlive }

  private func finishEvent() {
    reportCompleted()
    guard isAnybodyThere else { return world.remove(self) }
    elapsed = 0
    exchangeCount = 0
    eventStart += intervalNanoseconds
    scheduleEvent()
  }

  private func reportCompleted() {
    central.reportCompleted()
    peripheral.reportCompleted()
  }

  /// Whether subrating leaves this event out.
  private var isUnusedEvent: Bool {
    guard subrate.factor > 1, planned.isEmpty else { return false }
    if (eventIndex - subrateBase) % UInt64(subrate.factor) == 0 { return false }
    guard continuationLeft > 0 else { return true }
    continuationLeft -= 1
    return false
  }

  /// Whether a peripheral without data skips this event, as its latency allows.
  private var skipsEvent: Bool {
    guard timing.latency > 0, peripheral.isAlive, peripheral.hasHeard, planned.isEmpty,
      !peripheral.hasMore, skippedCount < timing.latency
    else {
      skippedCount = 0
      return false
    }
    skippedCount += 1
    return true
  }

  /// Ends that heard nothing for too long give up.
  private func watch() {
    let now = world.now.nanoseconds
    let timeout = Int64(timing.timeoutUnits10ms) * 10_000_000
    for end in [central, peripheral] where end.isAlive {
      if !end.hasHeard, now - madeAt > Limits.establishmentEvents * intervalNanoseconds {
        end.end(.connectionFailedToBeEstablished)
      } else if now - end.lastHeard >= timeout {
        end.end(.connectionTimeout)
      } else if now >= end.procedureDeadline {
        end.end(.linkResponseTimeout)
      }
    }
  }

  /// How long this event may be: up to the next, shared with the other links of either radio.
  private var eventBudget: Int64 {
    let sharers = max(1, central.controller.endpointCount, peripheral.controller.endpointCount)
    let share = (intervalNanoseconds - AirTime.interFrameNanoseconds) / Int64(sharers)
    let granted = world.radio.connectionEventMax?.nanoseconds ?? .max
    return min(share, granted, eventLengthMax)
  }

  private var nextExchangeNanoseconds: Int64 {
    AirTime.nanoseconds(payloadBytes: central.nextByteCount, phy: central.transmitPHY)
      + AirTime.nanoseconds(payloadBytes: peripheral.nextByteCount, phy: peripheral.transmitPHY)
      + 2 * AirTime.interFrameNanoseconds
  }

  /// Exchanges one packet in each direction; returns whether both arrived.
  private func exchange() -> Bool {
    central.launch()
    if central.inFlight != nil { continuationLeft = subrate.continuationNumber }
    let toPeripheral = world.hasAirListener ? show(of: central) : nil
    guard toPeripheral?.isEmpty != true, isHeard(from: central, to: peripheral) else {
      return false
    }
    peripheral.acknowledge()
    central.land(forged: toPeripheral)
    guard central.isAlive, peripheral.isAlive else { return false }
    peripheral.launch()
    if peripheral.inFlight != nil { continuationLeft = subrate.continuationNumber }
    let toCentral = world.hasAirListener ? show(of: peripheral) : nil
    guard toCentral?.isEmpty != true, isHeard(from: peripheral, to: central) else { return false }
    central.acknowledge()
    peripheral.land(forged: toCentral)
    return true
  }

  private func isHeard(from sender: Endpoint, to receiver: Endpoint) -> Bool {
    guard sender.isAlive, receiver.isAlive,
      world.now >= receiver.controller.faults.deafUntil
    else { return false }
    let mean = Double(sender.controller.capabilities.powerDBm) + currentGain
    let channel = world.radio.jamming.isEmpty ? 0 : drawChannel()
    let rssi = world.reception(
      meanDBm: mean, channel: channel, phy: sender.transmitPHY, at: receiver.controller.site,
      loss: world.radio.packetLoss, using: &generator)
    guard let rssi else { return false }
    receiver.hear(rssi: rssi)
    return true
  }

  private var currentGain: Double {
    let (a, b) = (central.controller.site, peripheral.controller.site)
    if gainEpoch != world.spaceEpoch || !a.motion.isStill || !b.motion.isStill
      || !world.walkers.isEmpty
    {
      gain = a.gain(to: b, world: world)
      gainEpoch = world.spaceEpoch
    }
    return gain
  }

  /// One of the used channels, as a hopping sequence would come upon it.
  private func drawChannel() -> Int {
    let wanted = Int(generator.next() % UInt64(max(1, channels.bits.nonzeroBitCount)))
    var bits = channels.bits
    for _ in 0..<wanted { bits &= bits - 1 }
    return min(36, bits.trailingZeroBitCount)
  }
}

// The air.
extension AirLink {
  /// The connection event of now, by the number that the air has for it; the first is 0.
  var eventCounter: UInt16 { UInt16(truncatingIfNeeded: max(eventIndex, 1) - 1) }

  /// Shows the packet that an end sends now to air listeners. Returns the bytes that an attacker
  /// sends over it, nil without an attack; they are empty if they can't be received.
  private func show(of sender: Endpoint) -> [UInt8]? {
    guard sender.isAlive else { return nil }
    var instant = world.now.nanoseconds
    if isPaced {
      instant = eventStart + elapsed
      if sender.role == .peripheral {
        instant +=
          AirTime.nanoseconds(
            payloadBytes: central.inFlight?.byteCount ?? 0, phy: central.transmitPHY)
          + AirTime.interFrameNanoseconds
      }
    }
    return show(sender.airBytes, from: sender, at: Instant(nanoseconds: instant))
  }

  /// The same for a packet that is sent at once.
  func show(_ bytes: [UInt8], from sender: Endpoint, at time: Instant) -> [UInt8]? {
    let packet = AirPacket(
      time: time, accessAddress: accessAddress, eventCounter: eventCounter,
      direction: sender.direction, phy: sender.transmitPHY, bytes: bytes)
    world.onAirPacket?(packet)
    guard let forged = world.forgeAirPacket?(packet), forged != bytes else { return nil }
    // A length that contradicts the bytes makes a wrong CRC, and the packet is lost.
    return forged.count >= 2 && forged.count - 2 == Int(forged[1]) ? forged : []
  }
}

// Without pacing.
extension AirLink {
  /// Lets everything that is queued arrive, if both hear each other.
  func deliverNow() {
    isDeliveryPending = false
    guard !isPaced, isAnybodyThere else { return }
    while central.hasControl || peripheral.hasControl {
      guard exchange(), central.isAlive, peripheral.isAlive else { return }
    }
    // The answer to the last packet.
    guard central.isAlive, peripheral.isAlive, !isDataPaused, areBothInReach else { return }
    central.deliverAllData()
    peripheral.deliverAllData()
  }

  /// Lets the completion of a single packet wait a moment for another event for its host:
  /// the answer to a request most often.
  func reportCompletedSoon() {
    guard !isReportPending else { return }
    isReportPending = true
    let instant = world.now.nanoseconds + Limits.completionDelayNanoseconds
    world.queue.push(.completion, at: instant, subject: index)
  }

  func reportPending() {
    isReportPending = false
    reportCompleted()
  }

  private var areBothInReach: Bool {
    isHeard(from: central, to: peripheral) && isHeard(from: peripheral, to: central)
  }
}

extension Subrate {
  /// Every event is used.
  static func none(_ timing: ConnectionTiming) -> Subrate {
    Subrate(
      factor: 1, latency: timing.latency, continuationNumber: 0,
      timeoutUnits10ms: timing.timeoutUnits10ms)
  }
}
