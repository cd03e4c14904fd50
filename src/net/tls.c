#include "net/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"

struct st_tls {
	OSSL_LIB_CTX *library;
	char *certificate, *key;
	SSL_CTX *context;
};

/* OpenSSL would otherwise ask on the terminal for the passphrase of a key. */
static int no_passphrase(char *text, int size, int writing, void *data) {
	return 0;
}

static int fail_tls(struct stet_error *err, const char *what, const char *path) {
	unsigned long error = ERR_peek_error();
	const char *reason = ERR_reason_error_string(error);
	bool memory = ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE;
	ERR_clear_error();
	if (memory)
		return st_fail_nomem(err);
	return st_fail(err, STET_E_INVALID, "%s %s cannot be used: %s.", what, path,
	               reason ? reason : "it is not PEM");
}

static int check_file(const char *what, const char *path, mode_t forbidden,
                      struct stet_error *err) {
	struct stat st;
	if (stat(path, &st) < 0)
		return st_fail_errno(err, errno, "%s %s cannot be opened", what, path);
	if (!S_ISREG(st.st_mode))
		return st_fail(err, STET_E_INVALID, "%s is not a regular file.", path);
	if (st.st_mode & forbidden)
		return st_fail(err, STET_E_ACCESS,
		               "%s %s is not allowed: its mode %04o gives every user access. Run chmod 600 "
		               "on it.",
		               what, path, st.st_mode & 07777);
	return 0;
}

static int load_files(const struct st_tls *tls, SSL_CTX *context, struct stet_error *err) {
	ERR_clear_error();
	if (SSL_CTX_use_certificate_chain_file(context, tls->certificate) != 1)
		return fail_tls(err, "The certificate", tls->certificate);
	if (X509_cmp_current_time(X509_get0_notAfter(SSL_CTX_get0_certificate(context))) < 0)
		return st_fail(err, STET_E_INVALID, "The certificate %s has expired: renew it.",
		               tls->certificate);
	if (SSL_CTX_use_PrivateKey_file(context, tls->key, SSL_FILETYPE_PEM) != 1)
		return fail_tls(err, "The key", tls->key);
	if (SSL_CTX_check_private_key(context) != 1)
		return fail_tls(err, "The key", tls->key);
	return 0;
}

/* There is no session cache: clients keep their connections. */
static void set_options(SSL_CTX *context) {
	SSL_CTX_set_default_passwd_cb(context, no_passphrase);
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_options(context,
	                    SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_TICKET);
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(context, 0);
}

int st_tls_reload(struct st_tls *tls, struct stet_error *err) {
	int code = check_file("The certificate", tls->certificate, 0, err);
	if (code == 0)
		code = check_file("The key", tls->key, 07, err);
	if (code < 0)
		return code;
	SSL_CTX *context = SSL_CTX_new_ex(tls->library, NULL, TLS_server_method());
	if (!context)
		return st_fail_nomem(err);
	set_options(context);
	code = load_files(tls, context, err);
	if (code < 0) {
		SSL_CTX_free(context);
		return code;
	}
	SSL_CTX_free(tls->context);
	tls->context = context;
	return 0;
}

int st_tls_new(const char *certificate, const char *key, struct st_tls **out,
               struct stet_error *err) {
	struct st_tls *tls = calloc(1, sizeof *tls);
	if (!tls)
		return st_fail_nomem(err);
	OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	tls->library = OSSL_LIB_CTX_new();
	tls->certificate = strdup(certificate);
	tls->key = strdup(key);
	int code =
		tls->library && tls->certificate && tls->key ? st_tls_reload(tls, err) : st_fail_nomem(err);
	if (code < 0)
		st_tls_free(tls);
	else
		*out = tls;
	return code;
}

struct bufferevent *st_tls_accept(struct st_tls *tls, struct event_base *base, int fd) {
	SSL *ssl = SSL_new(tls->context);
	if (!ssl)
		return NULL;
	struct bufferevent *bev = bufferevent_openssl_socket_new(
		base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	if (!bev) {
		SSL_free(ssl);
		return NULL;
	}
	bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	return bev;
}

void st_tls_free(struct st_tls *tls) {
	if (!tls)
		return;
	SSL_CTX_free(tls->context);
	OSSL_LIB_CTX_free(tls->library);
	free(tls->certificate);
	free(tls->key);
	free(tls);
}
