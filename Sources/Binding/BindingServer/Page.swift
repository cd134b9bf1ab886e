#if BindingServer
  public import Binding
  internal import BindingMachines

  /// A page of a server, and the view model that it shows.
  @MainActor
  public struct Page {
    /// The file of the page in the server's site.
    public let file: String
    /// Whether the page's scripts may compile WebAssembly. They may never evaluate text as a
    /// script.
    public var allowsWebAssembly = false

    /// The pattern of further addresses of the page; nil for none.
    let route: PageRoute?
    let schema: BindingSchema
    let isShared: Bool
    let bind: (PageRequest, Problems, @escaping @Sendable () -> Void) -> BoundModel
    let problems: ([UInt8]) -> [PageProblem]

    /// Creates a page that has one view model for each tab, also when the tab loads the page again.
    /// It is released a minute after the page was left, or when the tab has been disconnected for
    /// half an hour.
    ///
    /// - Parameters:
    ///   - file: The file of the page in the server's site, such as `index.html`.
    ///   - makeModel: Creates a view model. Called when a tab connects for the first time.
    public init<Model: ViewModel>(_ file: String, _ makeModel: @escaping @MainActor () -> Model) {
      self.init(file, Model.self, isShared: false) { _ in makeModel() }
    }

    /// Creates a page that has one view model for each tab, which depends on the request:
    ///
    ///     Page("room.html") { request in Room(number: request.query["room"]) }
    ///
    /// The request is that of the tab's first connection; a page that is loaded again in its tab keeps
    /// its view model.
    ///
    /// With a pattern of addresses, the page is also at these, and a view model gets the names in them:
    ///
    ///     Page("room.html", at: "rooms/{room}") { request in Room(number: request.path["room"]) }
    ///
    /// The page's own links begin at `/`, then, or with `../`.
    ///
    /// - Parameters:
    ///   - file: The file of the page in the server's site, such as `index.html`.
    ///   - pattern: Names between slashes, where a name in braces matches any name. An invalid pattern is a
    ///     programming error and traps. A file of the site at such an address isn't reachable.
    ///   - makeModel: Creates a view model. Called when a tab connects for the first time.
    public init<Model: ViewModel>(
      _ file: String, at pattern: String? = nil,
      _ makeModel: @escaping @MainActor (_ request: PageRequest) -> Model
    ) {
      let route = pattern.map { PageRoute($0) }
      if let route { precondition(route != nil, "“\(pattern ?? "")” is no pattern of addresses") }
      self.init(file, Model.self, isShared: false, at: route.flatMap { $0 }, makeModel)
    }

    /// Creates a page that shares one view model among all tabs of all browsers.
    ///
    /// - Parameters:
    ///   - file: The file of the page in the server's site, such as `index.html`.
    ///   - model: The view model, which the page retains.
    public init<Model: ViewModel>(_ file: String, sharing model: Model) {
      self.init(file, Model.self, isShared: true) { _ in model }
    }

    private init<Model: ViewModel>(
      _ file: String, _ type: Model.Type, isShared: Bool, at route: PageRoute? = nil,
      _ makeModel: @escaping @MainActor (PageRequest) -> Model
    ) {
      self.file = file
      self.isShared = isShared
      self.route = route
      schema = Model.bindings.schema
      bind = { request, problems, onChange in
        BoundModel(makeModel(request), problems: problems, onChange: onChange)
      }
      problems = { Model.problems(inPage: $0, named: file) }
    }

    /// The problems of the page's name for its tabs. Pages other than the first need a name, and it
    /// must be valid in tab names.
    func nameProblems(_ html: [UInt8], isFirst: Bool) -> [PageProblem] {
      for case .start(let element) in PageScanner.tags(of: html) where element.name == "html" {
        let written = element["data-page"]?.value
        if isFirst, written == nil { return [] }
        let reason: String
        if !TabName.isFit(forPage: name) {
          reason =
            "the file has a name that tabs can't have: letters and digits of ASCII, - and _, at most "
            + "\(TabName.pageByteCountMax), up to the first dot"
        } else if written != name {
          reason = "the tabs of this page need data-page=\"\(name)\" at its html element"
        } else {
          return []
        }
        return [PageProblem(page: file, line: element.line, reason: reason)]
      }
      return isFirst ? [] : [PageProblem(page: file, line: 1, reason: "there is no html element")]
    }

    /// The name of the page, in its `data-page` and in the names of its tabs: the file name without
    /// folder and extension.
    public var name: String {
      let last = file.split(separator: "/").last ?? ""
      return last.firstIndex(of: ".").map { String(last[..<$0]) } ?? String(last)
    }
  }
#endif
