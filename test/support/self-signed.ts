/**
 * A self-signed certificate for 127.0.0.1 and localhost, with its key: for tests alone, good until the year 2126.
 * `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=localhost
 * -addext subjectAltName=DNS:localhost,IP:127.0.0.1`
 */
export const selfSigned = {
  certificate: `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUO4D0MEjQm8n0Vz7AHpRIAo+cbb4wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTE4NTYwOFoYDzIxMjYxMDI4
MTg1NjA4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARz7uHQj56r42J0rUJVlsQNyJfj1wTTXJottr8Qdb134zY7JKRu/L59
ljsvLSOGxulHCrp6kqWqEaiwGd7nvogTo28wbTAdBgNVHQ4EFgQUMkskdP2teVJG
q5pVLF8rzsDtnRYwHwYDVR0jBBgwFoAUMkskdP2teVJGq5pVLF8rzsDtnRYwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIhAPehiLYcUoJFvyvuyzWVhtHERQwa5Axlz5Ipy9+nVDf8AiBe
Pn52cJS8ydowNayTBJZDAYQTvY2g4zpiiWzWM0IEnQ==
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6jv4ScNVZwKkIbWf
/ANhkduGDlWzhHLPeZqjybkNB5KhRANCAARz7uHQj56r42J0rUJVlsQNyJfj1wTT
XJottr8Qdb134zY7JKRu/L59ljsvLSOGxulHCrp6kqWqEaiwGd7nvogT
-----END PRIVATE KEY-----
`,
};
