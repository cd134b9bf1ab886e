// The functions of Expat that this package calls, as its reference declares them. Because they are declared
// here, a program builds where libexpat.so.1 is installed and its header (libexpat1-dev) is not. A test compares
// the declarations with the header where that is installed.
#pragma once
#include <dlfcn.h>

typedef struct XML_ParserStruct *XML_Parser;
typedef char XML_Char;
typedef unsigned char XML_Bool;

typedef void (*XML_StartElementHandler)(void *user, const XML_Char *name, const XML_Char **attributes);
typedef void (*XML_EndElementHandler)(void *user, const XML_Char *name);
typedef void (*XML_CharacterDataHandler)(void *user, const XML_Char *text, int count);
typedef void (*XML_StartNamespaceDeclHandler)(void *user, const XML_Char *prefix, const XML_Char *uri);
typedef void (*XML_EndNamespaceDeclHandler)(void *user, const XML_Char *prefix);

// The enumerations XML_Status and XML_Error have positive values only: an unsigned int.
XML_Parser XML_ParserCreateNS(const XML_Char *encoding, XML_Char separator);
XML_Bool XML_ParserReset(XML_Parser parser, const XML_Char *encoding);
void XML_ParserFree(XML_Parser parser);
void XML_SetUserData(XML_Parser parser, void *user);
void XML_SetElementHandler(XML_Parser parser, XML_StartElementHandler start, XML_EndElementHandler end);
void XML_SetCharacterDataHandler(XML_Parser parser, XML_CharacterDataHandler handler);
void XML_SetNamespaceDeclHandler(XML_Parser parser, XML_StartNamespaceDeclHandler start,
                                 XML_EndNamespaceDeclHandler end);
unsigned int XML_Parse(XML_Parser parser, const char *bytes, int count, int isFinal);
unsigned int XML_GetErrorCode(XML_Parser parser);

// Turns reparse deferral off, by which Expat 2.6 and later leave an element unfinished until more bytes come.
// Earlier versions have neither the function nor the deferral.
static inline void CExpat_disableReparseDeferral(XML_Parser parser) {
  XML_Bool (*disable)(XML_Parser, XML_Bool) =
      (XML_Bool (*)(XML_Parser, XML_Bool))dlsym((void *)0, "XML_SetReparseDeferralEnabled");
  if (disable) disable(parser, 0);
}
