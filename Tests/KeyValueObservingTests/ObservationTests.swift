import Foundation
import KeyValueObserving
import Synchronization
import Testing

/// A thing with properties that can be observed.
class Device: NSObject, KeyValueObserved, @unchecked Sendable {
  // Unchecked: `number` is behind a lock.
  let keyValueObservers = KeyValueObservers()
  private let storage = Mutex((number: 0, name: String?.none))

  var number: Int {
    get { storage.withLock { $0.number } }
    set {
      storage.withLock { $0.number = newValue }
      keyValueObservers.propertiesMayHaveChanged()
    }
  }
  var name: String? {
    get { storage.withLock { $0.name } }
    set {
      storage.withLock { $0.name = newValue }
      keyValueObservers.propertiesMayHaveChanged()
    }
  }
}

final class SpecialDevice: Device, @unchecked Sendable {}

/// What handlers were called with.
final class Calls: Sendable {
  private let storage = Mutex<[String]>([])
  func add(_ call: String) { storage.withLock { $0.append(call) } }
  var all: [String] { storage.withLock { $0 } }
}

/// Holds an observation for its own handler.
final class TokenBox: Sendable {
  private let token = Mutex<NSKeyValueObservation?>(nil)
  func set(_ new: NSKeyValueObservation?) { token.withLock { $0 = new } }
  func get() -> NSKeyValueObservation? { token.withLock { $0 } }
}

func text<Value>(_ change: NSKeyValueObservedChange<Value>) -> String {
  func text(_ value: Value?) -> String { value.map { "\($0)" } ?? "-" }
  return "\(text(change.oldValue))>\(text(change.newValue))\(change.isPrior ? " prior" : "")"
}

@Suite("Key-value observing")
struct ObservationTests {
  let device = Device()
  let calls = Calls()

  @Test(
    "a change holds what the options ask for",
    arguments: [
      ([], ["->-"]), ([.new], ["->3"]), ([.old], ["0>-"]), ([.old, .new], ["0>3"]),
      ([.initial], ["->-", "->-"]), ([.initial, .old, .new], ["->0", "0>3"]),
      ([.prior], ["->- prior", "->-"]), ([.prior, .old, .new], ["0>- prior", "0>3"]),
    ] as [(NSKeyValueObservingOptions, [String])])
  func options(_ options: NSKeyValueObservingOptions, _ expected: [String]) {
    let token = device.observe(\.number, options: options) { [calls] in
      #expect($1.kind == .setting && $1.indexes == nil && $0.name == nil)
      calls.add(text($1))
    }
    device.number = 3
    #expect(calls.all == expected)
    withExtendedLifetime(token) {}
  }

  @Test("a value that is set again is no change, and another property's change is not reported")
  func unchanged() {
    let token = device.observe(\.name, options: .new) { [calls] in calls.add(text($1)) }
    device.number = 3
    device.name = nil
    device.name = "strap"
    device.name = "strap"
    #expect(calls.all == [#"->Optional("strap")"#])
    withExtendedLifetime(token) {}
  }

  @Test("a subclass, and a property of a property, are observed alike")
  func keyPaths() {
    let special = SpecialDevice()
    let tokens = [
      special.observe(\.number, options: .new) { [calls] in calls.add(text($1)) },
      special.observe(\.name?.count, options: .new) { [calls] in calls.add(text($1)) },
    ]
    special.number = 1
    special.name = "abc"
    special.name = "xyz"
    #expect(calls.all == ["->1", "->Optional(3)"])
    withExtendedLifetime(tokens) {}
  }

  @Test("an observation ends with its token, with invalidate(), and leaves nothing behind")
  func end() {
    var token: NSKeyValueObservation? = device.observe(\.number) { [calls] _, _ in calls.add("a") }
    let other = device.observe(\.number) { [calls] _, _ in calls.add("b") }
    #expect(device.keyValueObservers.count == 2)
    token = nil
    device.number = 1
    other.invalidate()
    other.invalidate()
    device.number = 2
    #expect(calls.all == ["b"] && token == nil && device.keyValueObservers.count == 0)
  }

  @Test("the object may end first, and what the handler holds makes no cycle")
  func lifetimes() {
    weak var observed: Device?
    weak var captured: Calls?
    var token: NSKeyValueObservation?
    do {
      let device = Device()
      let calls = Calls()
      (observed, captured) = (device, calls)
      token = device.observe(\.number) { _, _ in calls.add("a") }
      device.number = 1
    }
    #expect(observed == nil && captured != nil)
    token?.invalidate()
    #expect(captured == nil)
    token = nil
  }

  @Test("a handler may hold the object itself: the token alone keeps both")
  func cycle() {
    weak var observed: Device?
    var token: NSKeyValueObservation?
    do {
      let device = Device()
      observed = device
      token = device.observe(\.number) { _, _ in _ = device.number }
    }
    #expect(observed != nil && token != nil)
    token = nil
    #expect(observed == nil)
  }

  @Test("a handler may change the property, and is called for that inside")
  func reentrance() {
    let token = device.observe(\.number, options: [.old, .new]) { [calls] device, change in
      calls.add(text(change))
      if device.number < 3 { device.number += 1 }
      calls.add("end")
    }
    device.number = 1
    #expect(calls.all == ["0>1", "1>2", "2>3", "end", "end", "end"])
    withExtendedLifetime(token) {}
  }

  @Test("a handler may end its own observation, also between the two calls of a change")
  func invalidateInside() {
    let token = TokenBox()
    token.set(
      device.observe(\.number, options: .prior) { [calls] in
        _ = $0
        calls.add(text($1))
        token.get()?.invalidate()
      })
    device.number = 1
    device.number = 2
    #expect(calls.all == ["->- prior"])
  }

  @Test("a token may end in another object's deinit, and an object while its handler runs")
  func deinits() {
    final class Owner: @unchecked Sendable {
      // Unchecked: used by one thread.
      var device: Device? = Device()
      var token: NSKeyValueObservation?
      deinit { token?.invalidate() }
    }
    var owner: Owner? = Owner()
    owner?.token = owner?.device?.observe(\.number) { [weak owner, calls] _, _ in
      owner?.device = nil
      calls.add("called")
    }
    owner?.device?.number = 1
    #expect(calls.all == ["called"] && owner?.device == nil)
    owner = nil
  }

  @Test("the handler is called on the thread that made the change")
  func thread() async {
    let threads = Mutex<[ObjectIdentifier]>([])
    let token = device.observe(\.number) { _, _ in
      threads.withLock { $0.append(ObjectIdentifier(Thread.current)) }
    }
    let changer = await withCheckedContinuation { continuation in
      DispatchQueue(label: "changes").async { [device] in
        device.number = 1
        continuation.resume(returning: ObjectIdentifier(Thread.current))
      }
    }
    #expect(threads.withLock { $0 } == [changer])
    withExtendedLifetime(token) {}
  }

  @Test("changes from many threads: each change begins where the one before ended")
  func races() async {
    let device = Device()
    let changes = Mutex<[(old: Int, new: Int)]>([])
    let token = device.observe(\.number, options: [.old, .new]) { _, change in
      changes.withLock { $0.append((change.oldValue ?? -1, change.newValue ?? -1)) }
    }
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<4 {
        group.addTask { for step in 0..<500 { device.number = task * 1_000 + step } }
      }
    }
    // Calls overlap, so that their order is open; but as a multiset olds and news chain.
    let all = changes.withLock { $0 }
    var balance: [Int: Int] = [:]
    for change in all {
      balance[change.old, default: 0] -= 1
      balance[change.new, default: 0] += 1
    }
    balance[0, default: 0] += 1
    balance[device.number, default: 0] -= 1
    #expect(balance.values.allSatisfy { $0 == 0 })
    #expect(all.allSatisfy { $0.old != $0.new } && !all.isEmpty)
    withExtendedLifetime(token) {}
  }
}
