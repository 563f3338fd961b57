import { useState } from 'react';
import { FileTrigger } from 'react-aria-components';
import type { ChatImage } from '../data/chat-request.ts';
import { formatDecimal } from '../format/format.ts';
import { Button } from '../parts/button.tsx';

const imageTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];

/** Most bytes of the images of a conversation. A question takes all of them along, and the portal accepts bodies of 16 MB. */
const mostBytes = 10 * 1024 * 1024;

interface ImagesProps {
  readonly images: readonly ChatImage[];
  /** Bytes of the images of earlier questions. */
  readonly bytesBefore: number;
  readonly onChange: (images: readonly ChatImage[]) => void;
}

/** The images of the next question: their names, a button that removes each, and one that adds some. */
export function PlaygroundImages({ images, bytesBefore, onChange }: ImagesProps) {
  const [error, setError] = useState('');

  const add = async (files: readonly File[]): Promise<void> => {
    const other = files.find(({ type }) => !imageTypes.includes(type));
    const bytes = [...images.map((image) => image.bytes), ...files.map(({ size }) => size)];
    if (other !== undefined) return setError(`${other.name} is not a PNG, JPEG, WebP or GIF image.`);
    if (bytes.reduce((sum, one) => sum + one, bytesBefore) > mostBytes) {
      return setError(`The images of a conversation may have ${formatDecimal(mostBytes / 2 ** 20)} MB.`);
    }
    setError('');
    onChange([...images, ...(await Promise.all(files.map(readImage)))]);
  };

  return (
    <div className="stack-tight">
      <div className="actions">
        <FileTrigger acceptedFileTypes={imageTypes} allowsMultiple onSelect={(files) => void add([...(files ?? [])])}>
          <Button size="small">Add images</Button>
        </FileTrigger>
        {images.map((image, index) => (
          <span key={image.url.slice(-64) + String(index)} className="attached">
            <img src={image.url} alt="" width={28} height={28} />
            <span>{image.name}</span>
            <Button
              kind="quiet"
              size="small"
              icon="close"
              aria-label={`Remove ${image.name}`}
              onPress={() => onChange(images.toSpliced(index, 1))}
            />
          </span>
        ))}
      </div>
      <span className="field-error" role="status">
        {error}
      </span>
    </div>
  );
}

async function readImage(file: File): Promise<ChatImage> {
  const read = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.addEventListener('load', () => read.resolve(typeof reader.result === 'string' ? reader.result : ''));
  reader.addEventListener('error', () => read.reject(new Error(`${file.name} cannot be read.`)));
  reader.readAsDataURL(file);
  return { name: file.name, bytes: file.size, url: await read.promise };
}
