import ExampleProgram
import Foundation
import Testing

@testable import museum_guide

@Suite("Files of exhibits")
struct ExhibitTests {
  private static let good = "1\t2\tGlobe\tNuremberg, 1492\tglobe.svg\tIt is round."

  @Test("the exhibits that come with the program are eight, with a picture and a text each")
  func builtIn() throws {
    let exhibition = try Exhibition.builtIn()
    #expect(exhibition.exhibits.count == 8 && exhibition.pictures.count == 8)
    for exhibit in exhibition.exhibits {
      #expect(exhibition.pictures[exhibit.picturePath] != nil, "\(exhibit.picture)")
      #expect(exhibit.text.count > 100 && !exhibit.origin.isEmpty)
    }
  }

  @Test("remarks and empty lines are ignored")
  func remarks() throws {
    let exhibit = try #require(try Exhibit.list("# a remark\n\n\(Self.good)\r\n").first)
    #expect(exhibit.beacon == Exhibit.Beacon(major: 1, minor: 2))
    #expect(exhibit.name == "Globe" && exhibit.text == "It is round.")
    #expect(try Exhibit.list("") == [])
  }

  @Test(
    "a line that is wrong is named",
    arguments: [
      ("1\t3\tMap", "6 fields"), ("one\t3\tMap\t\tmap.svg\t", "numbers"),
      ("1\t70000\tMap\t\tmap.svg\t", "numbers"), ("-1\t3\tMap\t\tmap.svg\t", "numbers"),
      ("1\t3\t\t\tmap.svg\t", "no name"), ("1\t3\tMap\t\t../map.svg\t", "no name of a picture"),
      ("1\t3\tMap\t\tmap.html\t", "no name of a picture"), ("1\t2\tMap\t\tmap.svg\t", "line 2"),
      ("1\t3\tMap\t\tmap.svg\t" + String(repeating: "x", count: 2_001), "longer"),
    ])
  func malformed(line: String, reason: String) throws {
    let error = #expect(throws: ExhibitsError.self) {
      try Exhibit.list("# a remark\n\(Self.good)\n\n\(line)\n")
    }
    #expect(error?.line == 4)
    #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
  }

  @Test("files come with their pictures, or are refused")
  func files() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(
      at: folder.appending(path: "pictures"), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "exhibits.tsv")
    let missing = #expect(throws: UsageError.self, "there is none") {
      try Exhibition.read(file.path)
    }
    #expect(missing?.reason == "\(file.path) can't be read, or is larger than 1 MB.")
    try Data("# mine\n1\tone\tMap\t\tmap.svg\t\n".utf8).write(to: file)
    let error = #expect(throws: ExhibitsError.self) { try Exhibition.read(file.path) }
    #expect(error?.line == 2)
    try Data("1\t1\tMap\t\tmap.svg\tA map.\n".utf8).write(to: file)
    let unseen = #expect(throws: UsageError.self, "there is no picture") {
      try Exhibition.read(file.path)
    }
    #expect(unseen?.reason.hasSuffix("map.svg can't be read, or is larger than 4 MB.") == true)
    try Data("<svg/>".utf8).write(to: folder.appending(path: "pictures/map.svg"))
    let exhibition = try Exhibition.read(file.path)
    #expect(exhibition.exhibits.map(\.name) == ["Map"])
    #expect(exhibition.pictures == ["pictures/map.svg": Array("<svg/>".utf8)])
  }

  @Test("there is a bound to how many exhibits there are")
  func many() {
    let lines = (0...Exhibit.countMax).map { "1\t\($0)\tMap\t\tmap.svg\t" }
    let error = #expect(throws: ExhibitsError.self) {
      try Exhibit.list(lines.joined(separator: "\n"))
    }
    #expect(error?.line == Exhibit.countMax + 1)
  }
}

@Suite("The nearest exhibit")
struct NearestExhibitTests {
  private static func exhibits(_ reports: [[String]]) -> [String?] {
    var nearest = NearestExhibit()
    return reports.map { report in
      nearest.update(near: report)
      return nearest.exhibit
    }
  }

  @Test("an exhibit is entered at the third report in a row, and left at the sixth without it")
  func entered() {
    #expect(
      Self.exhibits([["a"], ["a"], ["a"]] + Array(repeating: [], count: 7))
        == [nil, nil, "a", "a", "a", "a", "a", "a", nil, nil])
  }

  @Test("the nearest exhibit stays the same while two alternate")
  func turns() {
    let reports =
      [["a"], ["a"], ["a"]] + (0..<30).flatMap { _ in [["b", "a"], ["b"], ["a", "b"]] }
    #expect(Set(Self.exhibits(reports).dropFirst(2)) == ["a"])
  }

  @Test("the nearest exhibit changes as soon as another was nearer for long enough")
  func another() {
    let reports = [["a"], ["a"], ["a"], ["b", "a"], ["b", "a"], ["b", "a"]]
    #expect(Self.exhibits(reports).last == "b")
  }
}
