import AppLifecycle
import BackgroundTasks

/// An app with a scene that loads its news in the background.
class NewsAppDelegate: UIResponder, UIApplicationDelegate {
  static let refreshIdentifier = "com.example.news.refresh"
  static let cleaningIdentifier = "com.example.news.cleaning"

  let store = NewsStore()
  private var observer: NSObjectProtocol?

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    BGTaskScheduler.shared.register(
      forTaskWithIdentifier: NewsAppDelegate.refreshIdentifier, using: nil
    ) { task in
      if let task = task as? BGAppRefreshTask { self.handleRefresh(task: task) }
    }
    BGTaskScheduler.shared.register(
      forTaskWithIdentifier: NewsAppDelegate.cleaningIdentifier, using: .main
    ) { task in
      guard let task = task as? BGProcessingTask else { return }
      self.handleCleaning(task: task)
    }
    observer = NotificationCenter.default.addObserver(
      forName: UIApplication.didEnterBackgroundNotification, object: nil, queue: .main
    ) { [store] _ in
      store.add("saved")
    }
    application.registerForRemoteNotifications()
    return true
  }

  deinit {
    if let observer = observer { NotificationCenter.default.removeObserver(observer) }
  }

  func application(
    _ application: UIApplication,
    configurationForConnecting connectingSceneSession: UISceneSession,
    options: UIScene.ConnectionOptions
  ) -> UISceneConfiguration {
    let configuration = UISceneConfiguration(
      name: "Default Configuration", sessionRole: connectingSceneSession.role)
    configuration.delegateClass = NewsSceneDelegate.self
    return configuration
  }

  func application(
    _ application: UIApplication,
    didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
  ) {
    store.add("token " + deviceToken.map { String(format: "%02x", $0) }.joined())
  }

  func application(
    _ application: UIApplication,
    didFailToRegisterForRemoteNotificationsWithError error: Error
  ) {
    store.add("no token: \(error.localizedDescription)")
  }

  func application(
    _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
  ) {
    guard let article = userInfo["article"] as? String else {
      completionHandler(.noData)
      return
    }
    store.load(article) { completionHandler($0 ? .newData : .failed) }
  }

  func scheduleAppRefresh() {
    let request = BGAppRefreshTaskRequest(identifier: NewsAppDelegate.refreshIdentifier)
    request.earliestBeginDate = Date(timeIntervalSinceNow: 15 * 60)
    do {
      try BGTaskScheduler.shared.submit(request)
    } catch BGTaskScheduler.Error.unavailable {
      store.add("unavailable")
    } catch {
      store.add("could not schedule: \(error)")
    }
    let cleaning = BGProcessingTaskRequest(identifier: NewsAppDelegate.cleaningIdentifier)
    cleaning.requiresNetworkConnectivity = false
    cleaning.requiresExternalPower = true
    try? BGTaskScheduler.shared.submit(cleaning)
  }

  private func handleRefresh(task: BGAppRefreshTask) {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let operation = BlockOperation { [store] in store.add("refreshed") }
    task.expirationHandler = { queue.cancelAllOperations() }
    operation.completionBlock = { task.setTaskCompleted(success: !operation.isCancelled) }
    queue.addOperation(operation)
  }

  private func handleCleaning(task: BGProcessingTask) {
    task.expirationHandler = { [store] in
      store.add("expired")
      task.setTaskCompleted(success: false)
    }
    store.add("cleaning")
  }
}

class NewsSceneDelegate: UIResponder, UIWindowSceneDelegate {
  func scene(
    _ scene: UIScene, willConnectTo session: UISceneSession,
    options connectionOptions: UIScene.ConnectionOptions
  ) {
    guard let _ = (scene as? UIWindowScene) else { return }
    if let response = connectionOptions.notificationResponse {
      store?.add("opened with \(response.notification.request.content.body)")
    }
    store?.add("connected")
  }

  func sceneDidBecomeActive(_ scene: UIScene) { store?.add("active") }

  func sceneDidEnterBackground(_ scene: UIScene) {
    (UIApplication.shared.delegate as? NewsAppDelegate)?.scheduleAppRefresh()
  }

  private var store: NewsStore? { (UIApplication.shared.delegate as? NewsAppDelegate)?.store }
}

/// The model. Its queue protects the entries.
class NewsStore {
  private var entries: [String] = []
  private let queue = DispatchQueue(label: "NewsStore")

  var log: [String] { queue.sync { entries } }
  func add(_ entry: String) { queue.sync { entries.append(entry) } }

  func load(_ article: String, completion: @escaping (Bool) -> Void) {
    DispatchQueue.global().async {
      self.add("loaded \(article)")
      DispatchQueue.main.async { completion(true) }
    }
  }
}
