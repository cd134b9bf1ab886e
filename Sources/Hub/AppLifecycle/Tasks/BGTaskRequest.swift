internal import AppSessions
public import Foundation

/// A request to be launched for a task in the background. Use one of the subclasses.
open class BGTaskRequest: NSObject {
  /// The identifier, which `BGTaskSchedulerPermittedIdentifiers` of `Info.plist` has, too.
  public let identifier: String
  /// The task doesn't begin before; nil if it may at any time.
  open var earliestBeginDate: Date?

  init(identifier: String) {
    self.identifier = identifier
    super.init()
  }

  var kind: AppTaskRequest.Kind { .refresh }

  static func of(_ request: AppTaskRequest) -> BGTaskRequest {
    let made: BGTaskRequest
    switch request.kind {
    case .refresh: made = BGAppRefreshTaskRequest(identifier: request.identifier)
    case .processing(let needsNetwork, let needsPower):
      let processing = BGProcessingTaskRequest(identifier: request.identifier)
      processing.requiresNetworkConnectivity = needsNetwork
      processing.requiresExternalPower = needsPower
      made = processing
    }
    made.earliestBeginDate = request.earliestBegin.map(Date.init(timeIntervalSince1970:))
    return made
  }
}

/// A request for 30 seconds to refresh the app's content. Needs the background mode `fetch`.
open class BGAppRefreshTaskRequest: BGTaskRequest {
  /// Creates a request.
  public override init(identifier: String) { super.init(identifier: identifier) }
}

/// A request for minutes of processing. Needs the background mode `processing`.
open class BGProcessingTaskRequest: BGTaskRequest {
  /// The task needs a network.
  open var requiresNetworkConnectivity = false
  /// The task needs external power.
  open var requiresExternalPower = false

  /// Creates a request.
  public override init(identifier: String) { super.init(identifier: identifier) }

  override var kind: AppTaskRequest.Kind {
    .processing(needsNetwork: requiresNetworkConnectivity, needsPower: requiresExternalPower)
  }
}
