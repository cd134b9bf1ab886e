import BluetoothInterface
import Essentials

@testable import HubWire

// The messages that the ability `status` adds to version 1.
extension Version1 {
  static let statusQuestions: [String: AppMessage] = ["status": .status(300)]

  static var statusAnswers: [String: HubMessage] {
    let off = HubStatus(
      version: "", processID: 0, uptime: .zero,
      radio: HubStatus.Radio(
        name: "none", state: .poweredOff, problem: "The radio is gone.", isSimulated: true))
    return ["status": .status(300, status), "statusOfRadioThatIsOff": .status(1, off)]
  }

  private static var status: HubStatus {
    var status = HubStatus(
      version: "1.2.3", processID: 4_321, uptime: .seconds(3_600),
      radio: HubStatus.Radio(
        name: "hci0", state: .poweredOn, address: "C0:12:34:56:78:9A", isSimulated: false))
    status.counts.connectionCount = 3
    status.counts.otherProgramCount = 1
    status.counts.otherLinkCount = 2
    status.counts.refusedCount = 4
    status.counts.limitedRequestCount = 5
    status.counts.droppedValueCount = 6
    status.counts.droppedReportCount = 7
    status.counts.expiredRequestCount = 8
    status.programs = [
      lamp,
      HubStatus.Program(
        connection: 301, app: "Gerät", processID: 1 << 22, userID: 0, age: .milliseconds(1_500)),
    ]
    status.links = [
      strap, HubStatus.Link(peer: "00:11:22:33:44:55", stage: "pending"),
    ]
    status.links[1].isHeldBack = true
    return status
  }

  private static var lamp: HubStatus.Program {
    var program = HubStatus.Program(
      connection: 300, app: "Lamp", processID: 77, userID: 1_000, age: .nanoseconds(-1))
    program.sessionCount = 1
    program.scanCount = 2
    program.advertisementCount = 3
    program.linkCount = 4
    program.subscriptionCount = 5
    program.serviceCount = 6
    program.listenerCount = 7
    program.channelCount = 8
    program.requestCount = 9
    program.waitingByteCount = 10
    program.unhandledEventCount = 11
    program.droppedCount = 12
    program.lateCount = 13
    program.isHeldBack = true
    return program
  }

  private static var strap: HubStatus.Link {
    var link = HubStatus.Link(
      peer: "C4:00:00:00:00:01", name: "Strap", role: .central, stage: "open", users: [300, 301])
    link.isEncrypted = true
    link.queuedByteCount = 128
    link.operationCount = 2
    link.userCount = 40
    return link
  }
}
