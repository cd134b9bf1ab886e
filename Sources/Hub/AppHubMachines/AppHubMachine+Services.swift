package import AppMachines
package import Essentials

// Background tasks and notifications of apps, which launch and wake them.

extension AppHubMachine {
  /// What the system knows for its services.
  struct Surroundings: Sendable {
    var calendar = AppCalendar()
    var isOnline = true
    var isPowered = true
    /// When a task that waits for them is looked at again.
    var lookAt: Instant?
  }

  /// Whether a task waits for the network or the power supply, so that the host reports them.
  package var waitsForSurroundings: Bool {
    services.values.contains { $0.tasks.contains { $0.needsNetwork || $0.needsPower } }
  }

  /// Sets the calendar time, in seconds since 1970. Before an event, where it may have changed.
  package mutating func setCalendar(_ seconds: Double, now: Instant) {
    surroundings.calendar.set(seconds, at: now)
  }

  package mutating func setSurroundings(isOnline: Bool, isPowered: Bool) {
    surroundings.isOnline = isOnline
    surroundings.isPowered = isPowered
  }

  // MARK: Requests

  /// Answers a request of a process of an app about its tasks and notifications.
  package mutating func answer(
    _ request: AppServiceRequest, of app: AppID, now: Instant, into actions: inout [Action]
  ) -> AppServiceReply {
    guard life.state(of: app) != nil else { return .refused(.unavailable) }
    let reply = answer(request, of: app, now: now)
    preservedChangeCount += 1
    serve(now: now)
    finish(now: now, into: &actions)
    return reply
  }

  private mutating func answer(
    _ request: AppServiceRequest, of app: AppID, now: Instant
  ) -> AppServiceReply {
    let limits = serviceLimits
    let modes = modes[app] ?? []
    return services.change(app) { table in
      switch request {
      case .submit(let task, let permitted):
        guard modes.contains(task.isProcessing ? .processing : .fetch) else {
          return .refused(.notPermitted)
        }
        return table.submit(task, permitted: permitted)
      case .cancelTask(let identifier): table.cancelTask(identifier)
      case .setFetchInterval(let seconds):
        guard modes.contains(.fetch) else { return .refused(.notPermitted) }
        table.setFetchInterval(seconds, now: now, limits)
      case .authorize: return .granted(table.authorize())
      case .add(let notice, let seconds, let repeats):
        return table.add(notice, after: seconds, repeats: repeats, now: now, limits)
      case .present(let notice):
        guard table.isAuthorized == true else { return .refused(.notPermitted) }
        guard AppServices.fits(notice) else { return .refused(.tooLong) }
        table.shown(notice)
      case .removePending(let identifiers): table.removePending(identifiers)
      case .removeDelivered(let identifiers): table.withdraw(identifiers)
      case .register(let random):
        guard random.count == AppServices.tokenByteCount else { return .refused(.unavailable) }
        return .deviceToken(table.register(random: random))
      case .unregister: table.unregister()
      case .setBadge(let number): table.setBadge(number)
      }
      return .done
    }
  }

  // MARK: Remote notifications

  /// The app with a device token that is registered; nil without one.
  package func app(withToken token: [UInt8]) -> AppID? {
    services.first { $0.value.token == token && $0.value.isRegistered }?.key
  }

  /// A remote notification has come. Returns nil for an app that isn't installed.
  package mutating func push(
    _ push: AppPushNote, to app: AppID, now: Instant, into actions: inout [Action]
  ) -> AppPushOutcome? {
    guard life.state(of: app) != nil else { return nil }
    let outcome = self.push(push, to: app, now: now)
    preservedChangeCount += 1
    serve(now: now)
    finish(now: now, into: &actions)
    return outcome
  }

  private mutating func push(
    _ push: AppPushNote, to app: AppID, now: Instant
  ) -> AppPushOutcome {
    let table = services[app] ?? AppServices()
    let isInForeground = isInForeground(app)
    var push = push
    if !isInForeground, table.isAuthorized != true { push.notice.hasAlert = false }
    let notice = push.notice
    guard !isInForeground else {
      notify(notice, push.collapseIdentifier, app, now: now)
      return .delivered
    }
    guard notice.isSilent else {
      guard notice.hasAlert else { return .notAuthorized }
      notify(notice, push.collapseIdentifier, app, now: now)
      return .shown
    }
    if forceQuitApps.contains(app) {
      notify(notice, push.collapseIdentifier, app, now: now)
      return .forceQuit
    }
    let limits = serviceLimits
    let mayWake = services.change(app) { $0.mayWake(now: now, limits) }
    guard mayWake else {
      let calendar = surroundings.calendar.seconds(at: now)
      if let expiration = push.expiration, expiration <= calendar { return .expired }
      if notice.hasAlert {
        // The alert is not held up.
        push.notice.hasAlert = false
        var alert = notice
        alert.isSilent = false
        notify(alert, push.collapseIdentifier, app, now: now)
      }
      services.change(app) { $0.wait(push) }
      return .throttled
    }
    notify(notice, push.collapseIdentifier, app, now: now)
    return modes[app]?.contains(.remoteNotification) == true ? .delivered : .waitsForForeground
  }

  // MARK: Alerts

  /// The notification of an alert; nil for an alert of a connection.
  package func notice(ofAlert event: AppEventID, of app: AppID) -> AppNotice? {
    services[app]?.notice(ofAlert: event)
  }

  /// The alerts of notifications that an app's person has not opened, oldest first.
  package func alerts(of app: AppID) -> [AppEventID] { services[app]?.alerts.map(\.event) ?? [] }

  private mutating func openedAlert(_ event: AppEventID, of app: AppID) {
    guard services[app]?.notice(ofAlert: event) != nil else { return }
    services[app]?.openedAlert(event)
    preservedChangeCount += 1
  }

  /// Gives a notification to the machine of apps.
  private mutating func notify(
    _ notice: AppNotice, _ collapseIdentifier: String?, _ app: AppID, now: Instant
  ) {
    let key = collapseIdentifier.map { identifier in
      services.change(app) { $0.key(of: identifier) }
    }
    if !isInForeground(app), notice.hasAlert {
      let event = life.nextEvent
      services.change(app) { table in
        table.noteAlert(event, notice)
        table.shown(notice)
      }
    }
    let kind = AppEvent.Kind.notification(isSilent: notice.isSilent, hasAlert: notice.hasAlert)
    report(
      .arrived(app, AppEvent(kind, for: .notifications, key: key, payload: notice.contents)),
      now: now)
  }

  private func isInForeground(_ app: AppID) -> Bool {
    switch life.state(of: app) {
    case .active, .inactive: true
    case .background, .suspended, .notRunning, nil: false
    }
  }

  // MARK: Times

  /// When a task or a notification may be due.
  var nextServiceWake: Instant? {
    var next = surroundings.lookAt
    for (app, table) in services {
      next = [next, nextWake(of: table, app)].compactMap(\.self).min()
    }
    return next
  }

  /// One that waits for an app to leave the foreground, or for the person to open it, has no time.
  private func nextWake(of table: AppServices, _ app: AppID) -> Instant? {
    var due = table.pending.map(\.due)
    if !isInForeground(app), !forceQuitApps.contains(app) {
      due += table.tasks.filter { isFulfilled($0) }
        .map { table.dueTime(of: $0, surroundings.calendar) }
      if let fetch = table.nextFetch { due.append(fetch) }
      if let silent = table.nextSilent(serviceLimits) { due.append(silent) }
    }
    return due.min()
  }

  private func isFulfilled(_ task: AppTaskNote) -> Bool {
    (surroundings.isOnline || !task.needsNetwork) && (surroundings.isPowered || !task.needsPower)
  }

  /// Launches and shows what is due.
  mutating func serve(now: Instant) {
    guard !services.isEmpty else { return }
    for app in services.keys.sorted() {
      serveNotices(of: app, now: now)
      if !isInForeground(app), !forceQuitApps.contains(app) {
        serveTasks(of: app, now: now)
        servePushes(of: app, now: now)
      }
    }
    let interval = serviceLimits.surroundingsInterval
    surroundings.lookAt = waitsForChange ? now + interval : nil
  }

  /// Whether a task waits for something that changes without an event: the calendar may be set.
  private var waitsForChange: Bool {
    services.values.contains { table in
      table.tasks.contains { $0.earliestBegin != nil || $0.needsNetwork || $0.needsPower }
    }
  }

  /// Serves if something is due: an app may have left the foreground.
  mutating func serveIfDue(now: Instant) {
    if let next = nextServiceWake, next <= now { serve(now: now) }
  }

  /// Follows what changes an app's services from outside.
  mutating func followServices(_ event: AppMachine.Event) {
    switch event {
    case .installed(let app, let description): modes[app] = description.modes
    case .removed(let app):
      modes[app] = nil
      forceQuitApps.remove(app)
      if services.removeValue(forKey: app) != nil { preservedChangeCount += 1 }
    case .person(let app, .forceQuit) where modes[app] != nil:
      if forceQuitApps.insert(app).inserted { preservedChangeCount += 1 }
    case .person(let app, .opened), .person(let app, .openedAlert):
      if forceQuitApps.remove(app) != nil { preservedChangeCount += 1 }
      if case .person(_, .openedAlert(let alert)) = event { openedAlert(alert, of: app) }
    default: break
    }
  }

  private mutating func serveNotices(of app: AppID, now: Instant) {
    while let notice = services[app]?.takeDue(now: now) {
      preservedChangeCount += 1
      notify(notice, "local \(notice.identifier)", app, now: now)
    }
  }

  private mutating func serveTasks(of app: AppID, now: Instant) {
    let limits = serviceLimits
    for task in services[app]?.tasks ?? [] where isFulfilled(task) {
      guard let table = services[app], table.dueTime(of: task, surroundings.calendar) <= now else {
        continue
      }
      services[app]?.launched(task, now: now, limits)
      preservedChangeCount += 1
      let kind: AppEvent.Kind = task.isProcessing ? .processing : .refresh
      report(
        .arrived(app, AppEvent(kind, for: .tasks, payload: Array(task.identifier.utf8))), now: now)
    }
    guard let fetch = services[app]?.nextFetch, fetch <= now else { return }
    services[app]?.fetched(now: now, limits)
    report(.arrived(app, AppEvent(.refresh, for: .tasks)), now: now)
  }

  private mutating func servePushes(of app: AppID, now: Instant) {
    let limits = serviceLimits
    guard let next = services[app]?.nextSilent(limits), next <= now else { return }
    services[app]?.removeExpired(surroundings.calendar.seconds(at: now))
    preservedChangeCount += 1
    while services[app]?.waitingPushes.isEmpty == false,
      services[app]?.mayWake(now: now, limits) == true,
      let push = services[app]?.takeWaitingPush()
    { notify(push.notice, push.collapseIdentifier, app, now: now) }
  }

  // MARK: A restart of the system

  /// Takes over an app's failures, before anything else of it.
  package mutating func restore(_ failures: AppFailures, of app: AppID, now: Instant) {
    life.restore(failures, of: app, now: now)
  }

  /// What an app's services hold.
  package func serviceRecord(of app: AppID) -> AppServiceRecord? {
    services[app]?.record(surroundings.calendar)
  }

  /// The apps with services.
  package var appsWithServices: [AppID] { services.keys.sorted() }

  mutating func preserve(_ record: AppServiceRecord, of app: AppID, now: Instant) {
    guard mayPreserve(app), services[app] == nil else { return }
    services[app] = AppServices(record, now: now, surroundings.calendar, serviceLimits)
    // They were shown before: the person may still open the app from them.
    for notice in (record.alerts ?? []).suffix(AppServices.noticeCountMax) {
      let kind = AppEvent.Kind.notification(isSilent: false, hasAlert: true)
      services[app]?.noteAlert(life.nextEvent, notice)
      report(
        .preservedAlert(app, AppEvent(kind, for: .notifications, payload: notice.contents)),
        now: now)
    }
  }
}

extension [AppID: AppServices] {
  fileprivate mutating func change<Result>(
    _ app: AppID, _ body: (inout AppServices) -> Result
  ) -> Result {
    body(&self[app, default: AppServices()])
  }
}
