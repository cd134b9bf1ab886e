import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

@Suite("A host whose controller leaves a command unanswered")
struct UnansweredCommandTests {
  private let peer = DeviceAddress.peer(1)

  private func connected() -> HostRig {
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    rig.connect(peer)
    rig.controller.received = []
    return rig
  }

  @Test("a host starts a controller without the data of an unanswered command")
  func start() {
    for opcode in [HCIOpcode.leReadMaximumDataLength, .readLocalVersionInformation, .readBDADDR] {
      var rig = HostRig()
      rig.controller.faults[opcode] = .silence
      rig.handle(.transportOpened)
      rig.pass(.seconds(3))
      #expect(rig.machine.state == .poweredOn, "\(opcode)")
      #expect(rig.reopenings.isEmpty, "\(opcode)")
    }
  }

  @Test("a host fails an unanswered request, keeps the link, and ignores the late answer")
  func lateAnswer() {
    var rig = connected()
    rig.controller.faults[.readRSSI] = .silence
    let token = rig.token()
    rig.request(.readRSSI(peer, token))
    rig.pass(.seconds(3))
    #expect(rig.controller.opcodes == [.readRSSI, .readLocalVersionInformation])
    #expect(rig.results(of: token) == [.failure(.controller(.unspecifiedError))])
    rig.event(CommandComplete(ReadRSSI.self, returning: .init(handle: 0x40, rssi: -50)))
    #expect(rig.results(of: token).count == 1)
    #expect(rig.machine.session.strayAnswerCount == 1)
    #expect(!rig.log().contains("linkClosed"))
    #expect(rig.reopenings.isEmpty)
  }

  @Test("a host takes an answer that comes after the probe was sent")
  func answerAfterProbe() {
    var rig = connected()
    rig.controller.faults[.readRSSI] = .silence
    rig.controller.faults[.readLocalVersionInformation] = .silence
    let token = rig.token()
    rig.request(.readRSSI(peer, token))
    rig.pass(.seconds(3))
    rig.event(CommandComplete(ReadRSSI.self, returning: .init(handle: 0x40, rssi: -50)))
    #expect(rig.results(of: token) == [.success(.rssi(-50))])
    rig.pass(.seconds(5))
    #expect(rig.reopenings.isEmpty)
  }

  @Test("a host goes on although the controller never gives back the command's credit")
  func lostCredit() {
    var rig = connected()
    rig.controller.faults[.readRSSI] = .silence
    rig.controller.faults[.readLocalVersionInformation] = .silence
    rig.request(.readRSSI(peer, rig.token()))
    rig.pass(.milliseconds(2_500))
    rig.event(
      CommandComplete(
        numberOfCommandPackets: 0, opcode: .readLocalVersionInformation, returnParameters: [0]))
    rig.request(.startScan(ScanOptions()))
    #expect(rig.controller.last(LESetScanEnable.self)?.isEnabled == true)
  }

  @Test("a host doesn't wait again for an unanswered command that it can do without")
  func secondTime() {
    var rig = connected()
    rig.controller.faults[.readRSSI] = .silence
    rig.request(.readRSSI(peer, rig.token()))
    rig.pass(.seconds(3))
    let second = rig.token()
    rig.request(.readRSSI(peer, second))
    #expect(rig.results(of: second) == [.failure(.controller(.unspecifiedError))])
  }

  @Test("a host restarts a controller that doesn't answer the probe either")
  func death() {
    var rig = connected()
    rig.controller.answersLeft = 0
    rig.request(.readRSSI(peer, rig.token()))
    rig.pass(.milliseconds(3_900))
    #expect(rig.reopenings.isEmpty)
    rig.pass(.milliseconds(200))
    #expect(rig.reopenings == [.transport("The controller did not answer Read RSSI within 2 s.")])
    #expect(rig.states() == [.poweredOff])
  }

  @Test("a host reports resetting only when another controller has replaced the first")
  func otherController() {
    var rig = connected()
    rig.handle(.transportClosed(.transport("Unplugged.")))
    rig.handle(.transportOpened)
    #expect(rig.states() == [.poweredOff, .poweredOn])
    rig.events = []
    rig.handle(.transportClosed(.transport("Unplugged.")))
    rig.controller.address = DeviceAddress(bits: 0x0011_2233_4466, kind: .public)
    rig.handle(.transportOpened)
    #expect(rig.states() == [.poweredOff, .resetting, .poweredOn])
  }
}
