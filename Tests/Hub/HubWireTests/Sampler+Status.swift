import BluetoothInterface

@testable import HubWire

extension Sampler {
  mutating func hubStatus() -> HubStatus {
    let radio = HubStatus.Radio(
      name: text(), state: element(of: RadioState.allCases), address: optional { $0.text() },
      problem: optional { $0.text() }, isSimulated: bool())
    var status = HubStatus(
      version: text(), processID: count(), uptime: span(), radio: radio,
      programs: list { $0.hubProgram() }, links: list { $0.hubLink() },
      networkPrograms: list { $0.networkProgram() }, networkProblem: optional { $0.text() },
      bondFile: optional {
        HubStatus.BondFile(
          path: $0.text(), problem: $0.optional { $0.text() }, bondCount: $0.count())
      })
    status.counts.refusals.descriptorShortageCount = count()
    status.counts.connectionCount = count()
    status.counts.otherProgramCount = count()
    status.counts.otherLinkCount = count()
    status.counts.refusedCount = count()
    status.counts.limitedRequestCount = count()
    status.counts.droppedValueCount = count()
    status.counts.droppedReportCount = count()
    status.counts.expiredRequestCount = count()
    status.counts.refusals.shortenedKeepingCount = count()
    status.counts.refusals.unkeptSessionCount = count()
    status.counts.refusals.networkConnectionCount = count()
    status.counts.refusals.networkRequestCount = count()
    status.counts.refusals.otherNetworkProgramCount = count()
    return status
  }

  mutating func hubProgram() -> HubStatus.Program {
    var program = HubStatus.Program(
      connection: number(), app: text(), processID: count(), userID: number(), age: span())
    program.sessionCount = count()
    program.scanCount = count()
    program.advertisementCount = count()
    program.linkCount = count()
    program.subscriptionCount = count()
    program.serviceCount = count()
    program.listenerCount = count()
    program.channelCount = count()
    program.requestCount = count()
    program.waitingByteCount = count()
    program.unhandledEventCount = count()
    program.droppedCount = count()
    program.lateCount = count()
    program.isHeldBack = bool()
    program.lastUse = optional {
      RadioUse($0.element(of: RadioUse.Reason.allCases), age: $0.span())
    }
    program.unit = optional { $0.text() }
    return program
  }

  mutating func networkProgram() -> HubStatus.NetworkProgram {
    var program = HubStatus.NetworkProgram(processID: count(), userID: number(), name: text())
    program.serviceCount = count()
    program.recordCount = count()
    program.browserCount = count()
    program.queryCount = count()
    program.waitingByteCount = count()
    return program
  }

  mutating func hubLink() -> HubStatus.Link {
    var link = HubStatus.Link(
      peer: text(), name: optional { $0.text() },
      role: optional { $0.element(of: LinkInfo.Role.allCases) }, stage: text(),
      users: list { $0.number() })
    link.isEncrypted = bool()
    link.isHeldBack = bool()
    link.queuedByteCount = count()
    link.operationCount = count()
    link.userCount = count()
    return link
  }
}
