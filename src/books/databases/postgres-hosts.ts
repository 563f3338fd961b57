/**
 * The URL once for each of its hosts, which are separated by commas, as are those of the parameters `host` and `port`: the form of
 * PostgreSQL's own programs.
 */
export function urlPerHost(url: string): readonly string[] {
  const [, scheme = '', user = '', authority = '', path = '', query = ''] =
    /^([^:]+:\/\/)([^/?#]*@)?([^/?#]*)([^?]*)(\?.*)?$/s.exec(url) ?? [];
  const parameters = new URLSearchParams(query);
  const hosts = parameters.get('host')?.split(',') ?? [];
  if (hosts.length > 1) {
    const ports = parameters.get('port')?.split(',') ?? [];
    return hosts.map((host, index) => {
      const own = new URLSearchParams(query);
      own.set('host', host);
      const port = ports.length === 1 ? ports[0] : ports[index];
      if (port !== undefined) own.set('port', port);
      return `${scheme}${user}${authority}${path}?${own.toString()}`;
    });
  }
  const places = authority.split(',');
  return places.length < 2 ? [url] : places.map((place) => `${scheme}${user}${place}${path}${query}`);
}
