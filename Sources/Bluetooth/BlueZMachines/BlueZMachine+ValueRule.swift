import BluetoothInterface
import BluetoothWire
import Essentials

// The rule with which the bus delivers changes of characteristics. bluetoothd signals each value that any program reads, just
// before the reply, so that a program that only reads would wake and parse twice for each value.

extension BlueZMachine {
  static let valueRule =
    "type='signal',sender='\(BusName.bluez)',interface='\(BusName.properties)',"
    + "member='PropertiesChanged',path_namespace='/org/bluez',arg0='\(BusName.characteristic)'"

  /// Whether a link needs them: for values of its subscriptions, and for its MTU, which is exchanged before bluetoothd has
  /// its services.
  var needsValues: Bool {
    links.values.contains { link in
      switch link.phase {
      case .waiting, .unheard, .closing: return false
      case .connecting: return true
      case .open: break
      }
      guard let path = link.path, devices[path]?.areServicesResolved == true else { return true }
      if !link.subscribers.isEmpty { return true }
      return link.operations.contains { if case .subscribe = $0.work { true } else { false } }
    }
  }

  /// Adds or removes the rule. The bus handles the calls of one program in their order: what is called next has its
  /// effects behind the rule.
  mutating func updateValueRule(now: Instant, into actions: inout [Action]) {
    guard case .ready = phase, needsValues != (valueRule != nil) else { return }
    guard valueRule == nil else { return removeValueRule(now: now, into: &actions) }
    if let time = valueRuleRefusal?.retryAt, time > now { return }
    valueRuleRefusal?.retryAt = nil
    lastOperation += 1
    valueRule = lastOperation
    callBus("AddMatch", .valueRule(serial: lastOperation), now: now, into: &actions)
  }

  /// When the rule is added again, which the bus has refused.
  var nextValueRule: Instant? {
    guard case .ready = phase, let time = valueRuleRefusal?.retryAt, needsValues else { return nil }
    return time
  }

  /// Links and other signals don't need the rule: a late or refused one doesn't end the connection with the bus.
  mutating func valueRuleReplied(
    _ result: Result<[BusValue], BusError>, _ serial: UInt64, now: Instant,
    into actions: inout [Action]
  ) {
    guard valueRule == serial else { return }
    switch result {
    case .success: valueRuleRefusal = nil
    case .failure(let error):
      let refusal = Refusal(
        count: (valueRuleRefusal?.count ?? 0) + 1, error: error.loggedText, now: now)
      valueRuleRefusal = refusal
      // The bus may add it late.
      removeValueRule(now: now, into: &actions)
      guard refusal.count == 1 else { return }
      actions.append(
        .warning(
          "The bus delivers no changes of characteristics, which is tried again: \(refusal.error).")
      )
    }
  }

  private mutating func removeValueRule(now: Instant, into actions: inout [Action]) {
    valueRule = nil
    callBus("RemoveMatch", .release, now: now, into: &actions)
  }

  private mutating func callBus(
    _ member: String, _ purpose: Purpose, now: Instant, into actions: inout [Action]
  ) {
    send(
      BusCall(
        BusName.bus, "/org/freedesktop/DBus", BusName.bus, member, [.string(Self.valueRule)]),
      purpose, deadline: now + BlueZLimits.answerMax, into: &actions)
  }
}
