import AppHubMachines
import AppMachines
import AppSessions

// What the manager keeps for each app besides its managers, and requests of apps about it.

extension AppManagerCore {
  /// Answers a request of a process.
  func reply(to request: AppRequest, of program: AppProgram) -> AppReply {
    let app = AppID(program.bundle.identifier)
    return switch request {
    case .regions(let request): .regions(answer(request, of: app))
    default: request.replyWithoutSystem
    }
  }

  // MARK: The store

  /// What is kept now.
  var details: [AppDetailRecord] {
    forceQuitApps.sorted().map {
      AppDetailRecord(app: $0.rawValue, kind: .forceQuit, contents: [])
    }
      + machine.preservedRegions.map {
        AppDetailRecord(app: $0.app.rawValue, kind: .regions, contents: $0.bytes)
      }
  }

  /// Takes over what the last manager has kept. Apps are installed already.
  func restore(_ details: [AppDetailRecord]) {
    // Before the others, of which some don't launch such an app.
    for record in details where record.kind == AppDetailKind.forceQuit.rawValue {
      handle(.life(.person(AppID(record.app), .forceQuit)))
    }
    for record in details where record.kind == AppDetailKind.regions.rawValue {
      let regions = PreservedRegions(app: AppID(record.app), bytes: Array(record.contents))
      if let regions {
        handle(.preservedRegions(regions))
      } else {
        report("the regions of \(record.app) can't be read, and are given up")
      }
    }
  }

  /// Notes which apps the person has ended, and which of those were opened again.
  func noteForceQuits() {
    let now = Set(machine.life.status.lazy.filter(\.isForceQuit).map(\.id))
    guard now != forceQuitApps else { return }
    forceQuitApps = now
    detailChangeCount += 1
  }
}
