import AppHubMachines
import AppMachines
import Foundation

// What the manager keeps for each app besides its managers.

extension AppManagerCore {
  // MARK: The store

  /// The records of all apps now.
  var details: [AppDetailRecord] {
    let quit = machine.forceQuitApps.sorted().map {
      AppDetailRecord(app: $0.rawValue, kind: .forceQuit, contents: [])
    }
    let regions = machine.preservedRegions.map {
      AppDetailRecord(app: $0.app.rawValue, kind: .regions, contents: $0.bytes)
    }
    let services = machine.appsWithServices.compactMap { app in
      machine.serviceRecord(of: app).flatMap { try? JSONEncoder().encode($0) }.map {
        AppDetailRecord(app: app.rawValue, kind: .services, contents: Array($0))
      }
    }
    let held = sockets.appsWithSockets.sorted { $0.key < $1.key }.map {
      AppDetailRecord(
        app: $0.key.rawValue, kind: .heldSocket, contents: $0.value > 0 ? [UInt8($0.value)] : [])
    }
    return quit + held + failures + regions + services + otherDetails
  }

  /// Takes over what the last manager has kept. Apps are installed already.
  func restore(_ details: [AppDetailRecord]) {
    otherDetails = details.filter { AppDetailKind(rawValue: $0.kind) == nil }
    // Before the others, of which some don't launch such an app.
    for record in details where record.kind == AppDetailKind.forceQuit.rawValue {
      handle(.life(.person(AppID(record.app), .forceQuit)))
    }
    for record in details where record.kind == AppDetailKind.heldSocket.rawValue {
      sockets.hadSocket(AppID(record.app), idleRunCount: Int(record.contents.first ?? 0))
    }
    for record in details where record.kind == AppDetailKind.regions.rawValue {
      let regions = PreservedRegions(app: AppID(record.app), bytes: Array(record.contents))
      if let regions {
        handle(.preservedRegions(regions))
      } else {
        report("the regions of \(record.app) can't be read, and are given up")
      }
    }
    for record in details where record.kind == AppDetailKind.services.rawValue {
      if let services = try? JSONDecoder().decode(AppServiceRecord.self, from: record.contents) {
        handle(.preservedServices(AppID(record.app), services))
      } else {
        report("the tasks and notifications of \(record.app) can't be read, and are given up")
      }
    }
  }
}
