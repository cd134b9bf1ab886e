import Foundation
import Testing

@testable import AppLifecycle

private class Plain: UIResponder { var value = 5 }
private class Initialized: UIResponder {
  var value: Int
  override init() {
    value = 7
    super.init()
  }
}
private final class Derived: Initialized {
  let text: String
  override init() {
    text = "derived"
    super.init()
    value += 1
  }
}
private final class Bare: NSObject { let list = [1, 2, 3] }
private class Generic<Element>: NSObject { var elements: [Element] = [] }
private final class OfStrings: Generic<String> { let last = "last" }
private final class Foreign {}
private final class Demanding: NSObject {
  let value: Int
  init(value: Int) { self.value = value }
}

@MainActor @Suite struct ClassInstanceTests {
  @Test func `An object of each kind of class is made by its own initializer`() {
    #expect((instance(of: Plain.self) as? Plain)?.value == 5)
    #expect((instance(of: Initialized.self) as? Initialized)?.value == 7)
    let derived = instance(of: Derived.self) as? Derived
    #expect(derived?.value == 8 && derived?.text == "derived")
    #expect((instance(of: Bare.self) as? Bare)?.list == [1, 2, 3])
    #expect((instance(of: OfStrings.self) as? OfStrings)?.last == "last")
    #expect((instance(of: Generic<Int>.self) as? Generic<Int>)?.elements == [])
    #expect(instance(of: Foreign.self) == nil)
  }

  @Test func `A class without an initializer that has no parameters traps`() async {
    await #expect(processExitsWith: .failure) { @MainActor in _ = instance(of: Demanding.self) }
  }
}
