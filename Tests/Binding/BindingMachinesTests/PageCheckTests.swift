import BindingMachines
import Essentials
import Testing

@Suite("The check of a page")
struct PageCheckTests {
  private static let schema = {
    var page = BindingScope()
    page.add(BindingScope.Value(name: "email", isTwoWay: true))
    page.add(BindingScope.Value(name: "isValid", isTwoWay: false))
    page.add(BindingScope.Action(name: "signIn", takesArgument: false))
    page.add(BindingScope.Action(name: "open", takesArgument: true))
    for name in ["signIn.enabled", "signIn.executing", "signIn.error"] {
      page.add(BindingScope.Value(name: name, isTwoWay: false))
    }
    var row = BindingScope()
    row.add(BindingScope.Value(name: "name", isTwoWay: false))
    row.add(BindingScope.Value(name: "isStarred", isTwoWay: true))
    row.add(BindingScope.Action(name: "remove", takesArgument: false))
    return BindingSchema(
      page: page, lists: [.init(name: "devices", row: row)], uploads: ["photos"],
      rowUploads: ["devices.picture"])
  }()

  private static func findings(_ page: String) -> [String] {
    PageCheck.findings(in: Array(page.utf8), schema: schema, modelName: "SignIn")
      .map { "\($0.line): \($0.reason)" }
  }

  @Test("the check finds no fault in a page that names only declared values")
  func fine() {
    let page = """
      <!doctype html>
      <!-- <p data-text="commentedOut"> -->
      <script>const x = "<p data-text='notMarkup'>";</script>
      <form data-on="submit:signIn">
        <input data-bind="email" data-debounce="300" data-class="bad:isValid">
        <button data-enabled="signIn.enabled" data-attr="title:signIn.error">Go</button>
      </form>
      <template><p data-text="isValid"></p></template>
      <ul>
        <template data-each="devices">
          <li data-text="name" data-class="star:isStarred dim:isValid">
            <input type="checkbox" data-bind="isStarred">
            <button data-on="click:remove">x</button>
            <input type="file" data-upload="picture"><input type="file" data-upload="photos">
            <a data-on="click:open dblclick:open" data-arg="name" data-show="signIn.executing">o</a>
        </template>
      </ul>
      <template data-row="devices"><i data-text="name" data-attr="title:email"></i></template>
      <p data-text="email" data-test="anything" data-page="other">
      <input type="file" multiple data-upload="photos">
      <p data-when="off" hidden><p data-when="refused" hidden><p data-when="denied" hidden>
      """
    #expect(Self.findings(page) == [])
  }

  @Test(
    "the check reports the line, the attribute, and the probably intended name",
    arguments: [
      (
        "<input type=file data-upload=photo>",
        "1: data-upload=\"photo\": SignIn declares no upload “photo”; did you mean “photos”?"
      ),
      (
        "<input type=file data-upload=picture>",
        "1: data-upload=\"picture\": SignIn declares no upload “picture”; it declares photos"
      ),
      (
        "<template data-each=devices><input type=file data-upload=pictures></template>",
        "1: data-upload=\"pictures\": SignIn declares no upload “pictures”; did you mean “picture”?"
      ),
      (
        "<input data-upload=photos>",
        "1: data-upload=\"photos\": files are chosen by an input of the type file"
      ),
      (
        "<p\n  data-text=\"emial\">",
        "2: data-text=\"emial\": SignIn declares no value “emial”; did you mean “email”?"
      ),
      (
        "\n\n<p data-show=signIn>",
        "3: data-show=\"signIn\": “signIn” is an action; its values are signIn.enabled, .executing, "
          + ".error"
      ),
      (
        "<input data-bind='isValid'>",
        "1: data-bind=\"isValid\": SignIn declares it one-way: the page can't set it"
      ),
      (
        "<p data-bind='email'>",
        "1: data-bind=\"email\": only input, select and textarea can be typed into"
      ),
      (
        "<a data-attr='onclick:email'>",
        "1: data-attr=\"onclick:email\": the attribute onclick may hold code and can't be bound"
      ),
      (
        "<a data-class='email'>",
        "1: data-class=\"email\": “email” isn't of the form name:path"
      ),
      (
        "<a data-on='click:signin'>",
        "1: data-on=\"click:signin\": SignIn declares no action “signin”; did you mean “signIn”?"
      ),
      (
        "<a data-on='click:open'>",
        "1: data-on=\"click:open\": “open” takes an argument: data-arg is missing"
      ),
      (
        "<a data-on='click:signIn' data-arg='email'>",
        "1: data-on=\"click:signIn\": “signIn” takes no argument: data-arg is too much"
      ),
      ("<ul data-each='devices'>", "1: data-each=\"devices\": a list is shown by a template"),
      ("<i data-row='devices'>", "1: data-row=\"devices\": a list is shown by a template"),
      (
        "<template data-row='people'></template>",
        "1: data-row=\"people\": SignIn declares no list “people”; it declares devices"
      ),
      (
        "<template data-each='people'></template>",
        "1: data-each=\"people\": SignIn declares no list “people”; it declares devices"
      ),
      (
        "<template data-each='devices'><p data-text='isStared'></template>",
        "1: data-text=\"isStared\": SignIn declares no value “isStared”; did you mean “isStarred”?"
      ),
      (
        "<template data-each='devices'><template data-each='devices'></template></template>",
        "1: data-each=\"devices\": a row has no lists of its own"
      ),
      (
        "<template data-each='devices'><li></template><p data-text='name'>",
        "1: data-text=\"name\": SignIn declares no value “name”; it declares email, isValid, "
          + "signIn.enabled, signIn.error, signIn.executing"
      ),
      ("<p data-when=away>", "1: data-when=\"away\": the connection is off, refused or denied"),
      (
        "<input data-bind=email data-debounce=soon>",
        "1: data-debounce=\"soon\": it takes milliseconds, beside data-bind"
      ),
    ])
  func mistakes(page: String, finding: String) {
    #expect(Self.findings(page) == [finding])
  }

  @Test(
    arguments: [
      "", " only text ", "<!-- <li></li> -->", "</li>",
    ])
  func `The check reports a template of rows without an element`(content: String) {
    for kind in ["each", "row"] {
      let reason = "data-\(kind)=\"devices\": a row is one element, and the template has none"
      #expect(
        Self.findings("\n<template data-\(kind)=devices>\(content)</template>") == ["2: \(reason)"])
      #expect(Self.findings("\n<template data-\(kind)=devices>\(content)") == ["2: \(reason)"])
    }
  }

  @Test(
    arguments: [
      "<dt></dt>\n<dd></dd><dd></dd>", "<input>\n<dd></dd>", "<p><b>x</p>\n<dd>",
      "<svg><path/><path/></svg>\n<dd/>", "<template></template>\n<dd></dd>",
      "<!-- <p> --><p>a<br>b<template data-each=devices><i></i></template></p>\n<dd></dd>",
    ])
  func `The check reports a second element of a template of rows`(content: String) {
    let reason = "data-each=\"devices\": a row is one element, and <dd> would be a second one"
    let page = "<template data-each=devices>\(content)</template>"
    #expect(Self.findings(page).filter { !$0.contains("lists of its own") } == ["2: \(reason)"])
    #expect(
      Self.findings("<template>\(content.replacing("data-each=devices", with: ""))</template>")
        == [])
  }

  @Test("the check reads tags as browsers do, whatever the quotes, blanks and cases")
  func scanning() {
    let page =
      "<P\tdata-a = 'x>y' DATA-B=z/ data-a=2 data-c>a < b</P ><br/><textarea><p></textarea>"
    let tags = PageScanner.tags(of: Array(page.utf8))
    guard case .start(let element) = tags.first else {
      Issue.record("\(tags)")
      return
    }
    #expect(element.attributes.map(\.name) == ["data-a", "data-b", "data-c"])
    #expect(element.attributes.map(\.value) == ["x>y", "z/", ""])
    #expect(tags.count == 5)
    #expect(tags.last == .end("textarea"))
  }

  @Test("the check accepts pages that are cut or changed anywhere without a trap")
  func mutations() {
    let page = Array(
      "<!doctype html><!--x--><script>a</script><p data-text='email' b>&<template data-each=x>".utf8
    )
    for end in page.indices { _ = Self.findings(String(decoding: page[..<end], as: UTF8.self)) }
    for seed in 0..<5_000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      var changed = page
      for _ in 0..<4 {
        let bytes = Array("<>\"'=/-! \n\0".utf8)
        changed[Int.random(in: 0..<changed.count, using: &random)] =
          bytes.randomElement(using: &random) ?? 0
      }
      _ = PageCheck.findings(in: changed, schema: Self.schema, modelName: "M")
    }
  }
}
