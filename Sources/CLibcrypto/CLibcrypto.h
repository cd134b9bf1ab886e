// The functions of OpenSSL 3's libcrypto that this package calls, as its manual pages declare them:
// EC_GROUP_new(3), EC_POINT_new(3), EC_POINT_add(3), BN_bn2bin(3), BN_cmp(3), BN_set_flags(3),
// ERR_clear_error(3), SHA256(3), HMAC(3), EVP_DigestInit(3), PKCS5_PBKDF2_HMAC(3), d2i_X509(3),
// X509_get_signature_info(3). Because they are declared here, a program builds where
// libcrypto.so.3 is installed and its headers (libssl-dev) are not. A test compares the declarations
// with the headers where these are installed.
#pragma once
#include <stddef.h>

typedef struct bignum_st BIGNUM;
typedef struct bignum_ctx BN_CTX;
typedef struct ec_group_st EC_GROUP;
typedef struct ec_point_st EC_POINT;
typedef struct engine_st ENGINE;
typedef struct evp_md_st EVP_MD;

BIGNUM *BN_bin2bn(const unsigned char *bytes, int count, BIGNUM *result);
int BN_is_zero(const BIGNUM *a);
int BN_cmp(const BIGNUM *a, const BIGNUM *b);
void BN_set_flags(BIGNUM *a, int flags);
void BN_clear_free(BIGNUM *a);

EC_GROUP *EC_GROUP_new_by_curve_name(int nid);
const BIGNUM *EC_GROUP_get0_order(const EC_GROUP *group);
void EC_GROUP_free(EC_GROUP *group);

EC_POINT *EC_POINT_new(const EC_GROUP *group);
// A point_conversion_form_t is an enumeration of positive values: an unsigned int.
size_t EC_POINT_point2oct(const EC_GROUP *group, const EC_POINT *point, unsigned int form,
                          unsigned char *bytes, size_t count, BN_CTX *context);
int EC_POINT_oct2point(const EC_GROUP *group, EC_POINT *point, const unsigned char *bytes,
                       size_t count, BN_CTX *context);
int EC_POINT_mul(const EC_GROUP *group, EC_POINT *result, const BIGNUM *n, const EC_POINT *q,
                 const BIGNUM *m, BN_CTX *context);
void EC_POINT_clear_free(EC_POINT *point);

void ERR_clear_error(void);

const EVP_MD *EVP_sha1(void);
const EVP_MD *EVP_sha256(void);
const EVP_MD *EVP_sha384(void);
const EVP_MD *EVP_sha512(void);
int EVP_Digest(const void *bytes, size_t count, unsigned char *digest, unsigned int *digest_count,
               const EVP_MD *function, ENGINE *engine);
typedef struct evp_md_ctx_st EVP_MD_CTX;
EVP_MD_CTX *EVP_MD_CTX_new(void);
void EVP_MD_CTX_free(EVP_MD_CTX *context);
int EVP_DigestInit_ex(EVP_MD_CTX *context, const EVP_MD *function, ENGINE *engine);
int EVP_DigestUpdate(EVP_MD_CTX *context, const void *bytes, size_t count);
int EVP_DigestFinal_ex(EVP_MD_CTX *context, unsigned char *digest, unsigned int *digest_count);
unsigned char *SHA256(const unsigned char *bytes, size_t count, unsigned char *digest);
unsigned char *HMAC(const EVP_MD *function, const void *key, int key_count,
                    const unsigned char *bytes, size_t count, unsigned char *code,
                    unsigned int *code_count);
int PKCS5_PBKDF2_HMAC(const char *password, int password_count, const unsigned char *salt,
                      int salt_count, int iteration_count, const EVP_MD *function, int key_count,
                      unsigned char *key);

typedef struct x509_st X509;
X509 *d2i_X509(X509 **result, const unsigned char **bytes, long count);
void X509_free(X509 *certificate);
int X509_get_signature_info(X509 *certificate, int *digest_nid, int *key_nid, int *security_bits,
                            unsigned int *flags);
