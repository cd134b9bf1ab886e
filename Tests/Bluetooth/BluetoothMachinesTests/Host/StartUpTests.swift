import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

@Suite("A host starts its controller")
struct StartUpTests {
  @Test("a host reports unknown, then powered on, to every client")
  func usual() {
    var rig = HostRig()
    rig.handle(.clientOpened(.one))
    rig.handle(.transportOpened)
    #expect(rig.states() == [.unknown, .poweredOn])
    #expect(rig.controller.opcodes.first == .reset)
    #expect(rig.reopenings.isEmpty)
    rig.handle(.clientOpened(.two))
    #expect(rig.states(of: .two) == [.poweredOn])
  }

  @Test("a host uses extended commands only if the controller has them")
  func extended() {
    var rig = HostRig.started(.extended)
    #expect(rig.machine.abilities.usesExtendedCommands)
    rig.request(.startScan(ScanOptions()))
    #expect(
      rig.controller.opcodes == [.leSetExtendedScanParameters, .leSetExtendedScanEnable])
    rig = .started()
    rig.request(.startScan(ScanOptions()))
    #expect(rig.controller.opcodes == [.leSetScanParameters, .leSetScanEnable])
  }

  @Test("a host generates an address if the controller has none")
  func madeUpAddress() {
    var controller = ScriptedController()
    controller.address = DeviceAddress(bits: 0, kind: .public)
    let rig = HostRig.started(controller)
    #expect(rig.machine.abilities.address.randomKind == .static)
    #expect(rig.machine.state == .poweredOn)
  }

  @Test("a host reports a controller without Bluetooth LE as unsupported")
  func unsupported() {
    var controller = ScriptedController()
    controller.classicFeatures = []
    var rig = HostRig(controller)
    rig.handle(.clientOpened(.one))
    rig.handle(.transportOpened)
    #expect(rig.states() == [.unknown, .unsupported])
    rig.pass(.seconds(100))
    #expect(rig.reopenings.isEmpty)
  }

  @Test("a host starts a controller that shares its classic buffers")
  func sharedBuffers() {
    var controller = ScriptedController()
    controller.bufferCount = 0
    var rig = HostRig(controller)
    rig.controller.faults[.readBufferSize] = .cutShort
    rig.handle(.transportOpened)
    #expect(rig.controller.opcodes.contains(.readBufferSize))
    #expect(
      rig.reopenings == [.transport("The controller's answer to Read Buffer Size is invalid.")])
  }

  @Test("a host gives up a controller that falls silent at any step, with a sentence, and retries")
  func silence() {
    var script = HostRig(.extended)
    script.handle(.transportOpened)
    for step in script.controller.opcodes.indices {
      var rig = HostRig(.extended)
      rig.controller.answersLeft = step
      rig.handle(.clientOpened(.one))
      rig.handle(.transportOpened)
      rig.pass(.seconds(5))
      let opcode = script.controller.opcodes[step]
      #expect(
        rig.reopenings == [.transport("The controller did not answer \(opcode) within 2 s.")])
      #expect(rig.machine.state == .unknown, "\(opcode)")
      // It stays silent, then comes back.
      rig.handle(.transportOpened)
      rig.pass(.seconds(5))
      #expect(rig.machine.state == .poweredOff, "\(opcode)")
      #expect(rig.reopenings.count == 2, "\(opcode)")
      rig.controller.answersLeft = .max
      rig.handle(.transportOpened)
      #expect(rig.machine.state == .poweredOn, "\(opcode)")
      #expect(rig.states() == [.unknown, .poweredOff, .poweredOn])
    }
  }

  @Test("a host never hangs on an error status, a cut answer or garbage at any step")
  func wrongAnswers() {
    var probe = HostRig(.extended)
    probe.handle(.transportOpened)
    let faults: [ScriptedController.Fault] = [
      .status(.commandDisallowed), .status(.unknownCommand), .cutShort, .garbage,
    ]
    for opcode in Set(probe.controller.opcodes) {
      for fault in faults {
        var rig = HostRig(.extended)
        rig.controller.faults[opcode] = fault
        rig.handle(.transportOpened)
        rig.pass(.seconds(3))
        let isSettled = [.poweredOn, .unsupported].contains(rig.machine.state)
        #expect(isSettled || rig.reopenings.count == 1, "\(opcode) \(fault)")
        rig.controller.faults = [:]
        rig.handle(.transportOpened)
        #expect(rig.machine.state == .poweredOn, "\(opcode) \(fault)")
      }
    }
  }

  @Test("a host waits longer and longer before it opens the transport again, up to 5 s")
  func backOff() {
    var rig = HostRig()
    rig.handle(.clientOpened(.one))
    var pauses: [Int64] = []
    for _ in 0..<7 {
      rig.handle(.transportClosed(.transport("No such device.")))
      let start = rig.now
      let count = rig.reopenings.count
      while rig.reopenings.count == count { rig.pass(.milliseconds(500)) }
      pauses.append((rig.now.nanoseconds - start.nanoseconds) / 1_000_000_000)
    }
    #expect(pauses == [1, 2, 4, 5, 5, 5, 5])
    #expect(rig.states() == [.unknown, .poweredOff])
  }

  @Test("a host ignores packets before the answer to Reset, and late answers")
  func lateAnswers() {
    var rig = HostRig()
    rig.controller.faults[.reset] = .silence
    rig.handle(.transportOpened)
    rig.event(HardwareError(hardwareCode: 1))
    rig.event(CommandComplete(opcode: .leReadBufferSize, status: .success))
    rig.event(CommandComplete(opcode: .none, returnParameters: []))
    #expect(rig.machine.state == .unknown)
    #expect(rig.reopenings.isEmpty)
    rig.controller.faults = [:]
    rig.event(CommandComplete(opcode: .reset, status: .success))
    #expect(rig.machine.state == .poweredOn)
    rig.event(CommandComplete(opcode: .reset, status: .success))
    #expect(rig.machine.state == .poweredOn)
  }

  @Test("a host restarts after a hardware error, and resumes scans and advertising")
  func hardwareError() {
    var rig = HostRig.started()
    rig.request(.startScan(ScanOptions()))
    let token = rig.token()
    rig.request(.startAdvertising(AdvertisingOptions(), token))
    rig.controller.received = []
    rig.event(HardwareError(hardwareCode: 7))
    #expect(rig.states() == [.poweredOff, .poweredOn])
    #expect(rig.controller.opcodes.contains(.leSetScanEnable))
    #expect(rig.controller.opcodes.contains(.leSetAdvertisingEnable))
    #expect(rig.results(of: token).count == 1)
  }

  @Test("a host waits for credit before it sends a command")
  func credits() {
    var rig = HostRig.started()
    rig.event(CommandComplete(numberOfCommandPackets: 0, opcode: .none, returnParameters: []))
    rig.request(.startScan(ScanOptions()))
    #expect(rig.controller.opcodes.isEmpty)
    rig.event(CommandComplete(numberOfCommandPackets: 1, opcode: .none, returnParameters: []))
    #expect(rig.controller.opcodes == [.leSetScanParameters, .leSetScanEnable])
    rig.event(CommandComplete(numberOfCommandPackets: 0, opcode: .none, returnParameters: []))
    rig.request(.stopScan)
    rig.controller.answersLeft = 0
    rig.pass(.seconds(5))
    #expect(rig.reopenings == [.transport("The controller accepted no command for 2 s.")])
  }

  @Test("a host is not delayed by events that give no credit")
  func emptyCredit() {
    var rig = HostRig.started()
    let none = CommandComplete(numberOfCommandPackets: 0, opcode: .none, returnParameters: [])
    rig.event(none)
    rig.request(.startScan(ScanOptions()))
    rig.controller.answersLeft = 0
    for _ in 0..<41 {
      rig.pass(.milliseconds(100))
      rig.event(none)
    }
    #expect(rig.reopenings == [.transport("The controller accepted no command for 2 s.")])
  }
}
