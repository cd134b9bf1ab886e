/// The unit of `systemd --user` that runs the manager of a user's apps. Pure: everything that depends on the machine is
/// a parameter.
struct AppsUnit: Hashable, Sendable {
  static let name = "ambit-apps.service"

  /// The program and its arguments.
  let command: [String]
  private let program: String

  /// - Parameters:
  ///   - executable: The path of `ambit`.
  ///   - radio: The radio, as `--radio` takes it; nil for the hub's.
  /// - Returns: Nil for a path that systemd refuses.
  init?(executable: String, radio: String? = nil) {
    guard let program = UnitText.program(executable) else { return nil }
    self.program = program
    command = [executable, "apps", "run"] + (radio.map { ["--radio", $0] } ?? [])
  }

  var file: UnitFile {
    let arguments = [program] + command.dropFirst().map(UnitText.argument)
    let body = """
      [Unit]
      Description=Ambit manager of apps
      After=ambit-hub.socket
      # One that can't read the lists of the last one is started until it can: held sockets would end with the attempts.
      StartLimitIntervalSec=0

      [Service]
      ExecStart=\(arguments.joined(separator: " "))
      # The manager makes a control group for each app, by which it suspends the app.
      Delegate=yes
      # The manager ends the apps when it is stopped. The next one takes them over after a crash and a restart.
      KillMode=process
      # Held sockets outlive a restart of the manager.
      NotifyAccess=main
      FileDescriptorStoreMax=4096
      Restart=on-failure
      RestartSec=2
      TimeoutStopSec=10

      [Install]
      WantedBy=default.target

      """
    return UnitFile(name: Self.name, body: body, author: .apps)
  }
}
