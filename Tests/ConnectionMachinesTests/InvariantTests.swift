import Essentials
import Testing

@testable import ConnectionMachines

@Suite("The invariants of connections")
struct InvariantTests {
  @Test("a machine in each state keeps them")
  func kept() {
    var rig = ConnectionRig(started: false)
    #expect(rig.machine.violations() == [])
    rig.handle(.start)
    #expect(rig.machine.violations() == [])
    rig.handle(.connected(rig.path))
    rig.socket.room = 1
    rig.send(1, [1, 2, 3])
    rig.receive(2)
    #expect(rig.machine.violations() == [])
    rig.handle(.cancel)
    #expect(rig.machine.violations() == [])
    rig.handle(.forceCancel)
    #expect(rig.machine.violations() == [])
  }

  @Test("a socket that is connected in the wrong state is found")
  func connected() {
    var rig = ConnectionRig()
    rig.machine.isConnected = false
    #expect(rig.machine.violations() == ["the state is ready, the socket is not connected"])
  }

  @Test("a send and a receive that nothing will complete are found")
  func forgotten() {
    var rig = ConnectionRig()
    rig.socket.room = 0
    rig.send(1, [1])
    rig.receive(2)
    rig.machine.writing = .possible
    rig.machine.reading = .possible
    #expect(
      rig.machine.violations() == ["a send waits for nothing", "a receive waits for nothing"])
    rig.machine.firstSend = 1
    #expect(rig.machine.violations().contains("the head of the sends is at 1"))
  }
}
