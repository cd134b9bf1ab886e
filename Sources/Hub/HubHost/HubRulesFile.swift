import EventLoop
import Glibc
package import HubMachines

/// The file of a hub's rules.
package enum HubRulesFile {
  /// The usual path: `/etc/ambit/hub.json` for the hub of root or of the system, and `ambit/hub.json` in
  /// `$XDG_CONFIG_HOME` or `~/.config` for a user's. Nil for a user without a home.
  ///
  /// A user's session has a folder for sockets, a service of the system has none.
  package static func standardPath(
    isRoot: Bool = geteuid() == 0,
    environment: (String) -> String? = { ProcessEnvironment.value($0) }
  ) -> String? {
    if isRoot || environment("XDG_RUNTIME_DIR") == nil { return "/etc/ambit/hub.json" }
    if let folder = environment("XDG_CONFIG_HOME"), folder.hasPrefix("/") {
      return folder + "/ambit/hub.json"
    }
    guard let home = environment("HOME"), home.hasPrefix("/") else { return nil }
    return home + "/.config/ambit/hub.json"
  }

  /// The rules in a file, or those of the usual file if it exists.
  ///
  /// - Throws: If the file can't be read, has a mistake, or could be changed by other users than root and the
  ///   hub's.
  package static func load(
    _ path: String?, names: some AccountNames = SystemAccounts()
  ) throws(HubServerError) -> HubRules {
    guard let file = path ?? standardPath() else { return HubRules() }
    let rules: Result<HubRules, HubServerError>
    do throws(SystemError) { rules = try load(file, names) } catch {
      if path == nil, error.number == ENOENT || error.number == ENOTDIR { return HubRules() }
      throw HubServerError(
        .rulesUnreadable,
        "The hub's rules at \(file) can't be read: \(error.text).")
    }
    return try rules.get()
  }

  private static func load(
    _ path: String, _ names: some AccountNames
  ) throws(SystemError) -> Result<HubRules, HubServerError> {
    // A pipe must not be waited for.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw .current }
    defer { close(descriptor) }
    if let danger = try danger(path, descriptor) {
      return .failure(
        HubServerError(.rulesInvalid, "The hub's rules at \(path) are not used: \(danger)."))
    }
    let bytes = try FileBytes.read(descriptor, byteCountMax: HubRules.byteCountMax + 1)
    do throws(HubRulesError) {
      return .success(try HubRules(parsing: bytes, names: names))
    } catch {
      return .failure(
        HubServerError(.rulesInvalid, "The hub's rules at \(path) have a mistake: \(error)."))
    }
  }

  // MARK: Trust

  /// Why others than root and the hub's user could change the file; nil if they can't.
  private static func danger(
    _ path: String, _ descriptor: Int32
  ) throws(SystemError) -> String? {
    var information = stat()
    guard unsafe fstat(descriptor, &information) == 0 else { throw .current }
    guard information.st_mode & S_IFMT == S_IFREG else { return "it is no regular file" }
    if let danger = danger(information, "the file") { return danger }
    // The folders of a link and of the file that it names.
    for file in [path, try target(of: path)] {
      let folder = folder(of: file)
      guard unsafe stat(folder, &information) == 0 else { throw .current }
      if let danger = danger(information, "the folder \(folder)") { return danger }
    }
    return nil
  }

  private static func danger(_ information: stat, _ name: String) -> String? {
    guard information.st_uid == 0 || information.st_uid == geteuid() else {
      return "\(name) belongs to user \(information.st_uid), neither root nor the hub's"
    }
    let isFolder = information.st_mode & S_IFMT == S_IFDIR
    // In a sticky folder, others can't replace files.
    let isSafe =
      information.st_mode & 0o022 == 0 || (isFolder && information.st_mode & S_ISVTX != 0)
    return isSafe ? nil : "other users may write to \(name) (chmod go-w)"
  }

  private static func target(of path: String) throws(SystemError) -> String {
    guard let found = unsafe realpath(path, nil) else { throw .current }
    defer { unsafe free(found) }
    return unsafe String(cString: found)
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
