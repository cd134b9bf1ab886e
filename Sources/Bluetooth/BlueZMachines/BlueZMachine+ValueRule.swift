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
  private var needsValues: Bool {
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
    guard case .ready = phase, needsValues != hasValueRule else { return }
    hasValueRule.toggle()
    send(
      BusCall(
        BusName.bus, "/org/freedesktop/DBus", BusName.bus,
        hasValueRule ? "AddMatch" : "RemoveMatch",
        [.string(Self.valueRule)]),
      hasValueRule ? .match : .release, deadline: now + BlueZLimits.answerMax, into: &actions)
  }
}
