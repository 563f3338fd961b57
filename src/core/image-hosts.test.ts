import { describe, expect, it } from 'vitest';
import { type ImageHosts, isImageAllowed, readImageHosts } from './image-hosts.ts';

const data = 'data:image/png;base64,AAAA';

function hosts(text: string): ImageHosts {
  const read = readImageHosts(text);
  if (read === undefined) throw new Error(`not read: ${text}`);
  return read;
}

describe('the hosts of images', () => {
  it.each(['https://a.example/x.png', 'HTTP://user@[::1]:9/\\', data])('%s goes anywhere unless told', (address) => {
    expect(isImageAllowed(address, 'any')).toBe(true);
  });

  it('leave nothing but data: URLs with none', () => {
    expect(isImageAllowed(data, hosts('none'))).toBe(true);
    expect(isImageAllowed('DATA:image/png;base64,AAAA', hosts('none'))).toBe(true);
    expect(isImageAllowed('https://images.example.com/x.png', hosts('none'))).toBe(false);
  });

  const list = hosts('images.example.com, *.cdn.example.org, 10.0.0.5:8080, [fd00::1], UPPER.example.net');

  it.each([
    data,
    'https://images.example.com/x.png?size=1#top',
    'http://images.example.com',
    'HTTPS://IMAGES.EXAMPLE.COM/x.png',
    'https://images.example.com./x.png',
    'https://images.example.com:443/x.png',
    'http://images.example.com:80/x.png',
    'https://a.cdn.example.org/x.png',
    'https://a.b.cdn.example.org/x.png',
    'http://10.0.0.5:8080/x.png',
    // The same address, written otherwise.
    'http://0x0a000005:8080/x.png',
    'https://[fd00:0:0::1]/x.png',
    'https://upper.example.net/',
    'https://images.example.com/@evil.example',
  ])('allow %s', (address) => {
    expect(isImageAllowed(address, list)).toBe(true);
  });

  it.each([
    'https://evil.example/x.png',
    'https://images.example.com.evil.example/x.png',
    'https://notimages.example.com/x.png',
    'https://cdn.example.org/x.png',
    'https://evilcdn.example.org/x.png',
    'https://images.example.com:8443/x.png',
    'http://images.example.com:443/x.png',
    'http://10.0.0.5/x.png',
    'http://10.0.0.6:8080/x.png',
    'http://169.254.169.254/latest/meta-data',
    'http://2852039166/latest/meta-data',
    'http://[::ffff:169.254.169.254]/',
    'https://[::1]/',
    'https://images.example.com@evil.example/x.png',
    'https://user:password@images.example.com/x.png',
    'https://images.example.com\\@evil.example/x.png',
    'https://images.example.com\\.evil.example/x.png',
    'https://evil.example#@images.example.com/',
    'https://evil.example?@images.example.com/',
    'https://images%2eexample.com/x.png',
    'https://images.example.com%00.evil.example/',
    'https://ｉmages.example.com/x.png',
    'https://images.example.com\t.evil.example/',
    ' https://images.example.com/x.png',
    'https:images.example.com/x.png',
    'https:///images.example.com/x.png',
    'file:///etc/passwd',
    'ftp://images.example.com/x.png',
    '',
  ])('refuse %j', (address) => {
    expect(isImageAllowed(address, list)).toBe(false);
  });

  it.each(['', 'none,images.example.com/x', 'https://images.example.com', 'a b', '*', '*.10.0.0.1', 'user@a', 'a,,b'])(
    'are not read from %j',
    (text) => {
      expect(readImageHosts(text)).toBeUndefined();
    },
  );
});
