#if BindingServer
  /// What is known of a tab when its view model is created.
  public struct PageRequest: Hashable, Sendable {
    /// The query of the page's address, as in `/?room=7&floor=2`: the last value of each name.
    public var query: [String: String]
    /// The names in the page's address, by those in the page's pattern: `["room": "7"]` for `/rooms/7`.
    public var path: [String: String]
    /// The browser: the same for all of its tabs, as long as it is admitted. Nil where no token is needed.
    public var session: String?

    /// Creates a request, as for tests of view models.
    public init(
      query: [String: String] = [:], path: [String: String] = [:], session: String? = nil
    ) {
      self.query = query
      self.path = path
      self.session = session
    }

    /// The path of the address, without a slash at its beginning.
    var address = ""
  }
#endif
