"""Programs around a model: records, queue runners, images, strings, summaries, prints, asserts, linear algebra.

  program_pipelines_test.py WEIR [TEST...]    WEIR is the weir program
"""
import program_case  # first: it finds an interpreter that can import TensorFlow

import os
import tempfile

import numpy as np
from program_case import tf, tf1


def values_of(summary):
    """What each value says, but for the bytes of images and sounds."""
    message = tf1.Summary.FromString(summary)
    seen = []
    for value in message.value:
        kind = value.WhichOneof("value")
        if kind == "simple_value":
            seen.append([value.tag, np.float32(value.simple_value)])
        elif kind == "histo":
            seen.append([value.tag, value.histo.num, value.histo.min, value.histo.max, list(value.histo.bucket)])
        elif kind == "image":
            seen.append([value.tag, value.image.height, value.image.width, value.image.colorspace])
        else:
            seen.append([value.tag, kind])
    return seen


class Pipelines(program_case.ProgramTest):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def records(self):
        rng = np.random.RandomState(3)
        paths = []
        for part in range(2):
            paths.append(self.path("part%d.tfrecord" % part))
            with tf1.python_io.TFRecordWriter(paths[-1]) as writer:
                for i in range(20):
                    image = rng.randint(256, size=[6, 5, 3]).astype(np.uint8)
                    writer.write(tf1.train.Example(features=tf1.train.Features(feature={
                        "image": tf1.train.Feature(bytes_list=tf1.train.BytesList(value=[image.tobytes()])),
                        "label": tf1.train.Feature(int64_list=tf1.train.Int64List(value=[part * 20 + i])),
                        "tags": tf1.train.Feature(bytes_list=tf1.train.BytesList(value=[b"t"] * (i % 3))),
                    })).SerializeToString())
        return paths

    def parse(self, serialized):
        features = tf1.parse_single_example(serialized, {
            "image": tf1.FixedLenFeature([], tf.string), "label": tf1.FixedLenFeature([], tf.int64),
            "tags": tf1.VarLenFeature(tf.string)})
        image = tf.reshape(tf1.decode_raw(features["image"], tf.uint8), [6, 5, 3])
        return image, features["label"], tf.size(features["tags"].values)

    def augment(self, image):
        image = tf.image.convert_image_dtype(image, tf.float32)
        image = tf1.image.resize_images(image, [8, 8])
        image = tf.image.random_flip_left_right(image, seed=1)
        image = tf.image.random_brightness(image, 0.2, seed=2)
        image = tf.image.random_contrast(image, 0.8, 1.2, seed=3)
        image = tf.image.random_saturation(image, 0.8, 1.2, seed=4)
        image = tf.image.random_hue(image, 0.1, seed=5)
        image = tf1.random_crop(image, [6, 6, 3], seed=6)
        return tf.image.per_image_standardization(image)

    def test_records_by_datasets(self):
        paths = self.records()

        def program(run):
            data = tf1.data.TFRecordDataset(paths).map(self.parse).map(
                lambda image, label, tags: (self.augment(image), label, tags))
            data = data.shuffle(10, seed=5).repeat(2).batch(8).prefetch(2)
            iterator = tf1.data.make_initializable_iterator(data)
            following = iterator.get_next()
            with run.session() as session:
                session.run(iterator.initializer)
                seen = []
                while True:
                    try:
                        seen.append(session.run(following))
                    except tf.errors.OutOfRangeError:
                        return seen

        self.same(program, atol=1e-4)

    def test_records_by_queues(self):
        paths = self.records()

        def program(run):
            names = tf1.train.string_input_producer(paths, num_epochs=2, shuffle=False)
            _, serialized = tf1.TFRecordReader().read(names)
            image, label, tags = self.parse(serialized)
            batch = tf1.train.batch([tf.cast(image, tf.float32) / 255., label, tags], 8, allow_smaller_final_batch=True)
            seen = []
            with run.session() as session:
                coordinator = tf1.train.Coordinator()
                threads = [runner.create_threads(session, coordinator, daemon=True, start=True)
                           for runner in tf1.get_collection(tf1.GraphKeys.QUEUE_RUNNERS)]
                try:
                    while not coordinator.should_stop():
                        seen.append(session.run(batch))
                except tf.errors.OutOfRangeError:
                    coordinator.request_stop()
                coordinator.join(sum(threads, []), stop_grace_period_secs=20)
            return seen

        self.same(program)

    def test_shuffled_batches(self):
        """Nothing is lost and nothing is there twice; the order is not promised with several threads."""
        def program(run):
            numbers = tf1.train.range_input_producer(30, num_epochs=1, shuffle=True, seed=2).dequeue()
            by_length = tf1.train.shuffle_batch([numbers, numbers * numbers], 7, 50, 10, num_threads=3,
                                                allow_smaller_final_batch=True)
            seen = []
            with run.session() as session:
                coordinator = tf1.train.Coordinator()
                threads = tf1.train.start_queue_runners(session, coordinator)
                with self.assertRaises(tf.errors.OutOfRangeError):
                    while True:
                        seen.extend(zip(*session.run(by_length)))
                coordinator.request_stop()
                coordinator.join(threads, stop_grace_period_secs=20)
            return [sorted(seen)]

        self.same(program)

    def test_summaries(self):
        def program(run):
            x = tf1.placeholder(tf.float32, [4, 3])
            with tf1.name_scope("scope"):
                tf1.summary.scalar("mean", tf.reduce_mean(x))
                tf1.summary.histogram("values", x)
            tf1.summary.image("picture", tf.reshape(x, [1, 4, 3, 1]))
            tf1.summary.text("words", tf.constant(["a", "b"]))
            tf1.summary.audio("sound", tf.tanh(tf.reshape(x, [1, 12, 1])), 8000)
            merged = tf1.summary.merge_all()
            with run.session() as session:
                writer = tf1.summary.FileWriter(self.path("logs"), session.graph)
                seen = []
                for i in range(3):
                    summary = session.run(merged, {x: np.random.RandomState(i).randn(4, 3)})
                    writer.add_summary(summary, i)
                    seen.append(values_of(summary))
                writer.close()
                return seen

        self.same(program)

    def test_asserts_and_prints(self):
        def program(run):
            x = tf1.placeholder(tf.float32, [None])
            checks = [tf1.assert_positive(x, message="must be positive"), tf1.assert_less(x, 10.),
                      tf1.assert_rank(x, 1), tf1.assert_equal(tf.size(x), 2),
                      tf1.Assert(tf.reduce_all(tf.math.is_finite(x)), [x, "finite"])]
            with tf1.control_dependencies(checks + [tf.print("x is", x, summarize=1)]):
                y = tf1.Print(tf1.verify_tensor_all_finite(x * 2, "not finite"), [x], "printed: ", first_n=1)
            seen = []
            with run.session() as session:
                for value in ([1., 2.], [1., -2.], [1., 20.], [1., 2., 3.], [1., np.nan]):
                    try:
                        seen.append(session.run(y, {x: value}))
                    except tf.errors.InvalidArgumentError as error:
                        seen.append(sum(phrase in error.message for phrase in
                                        ("must be positive", "Condition x < y", "Condition x == y", "finite")) > 0)
            return seen

        self.same(program)

    def test_linear_algebra(self):
        def program(run):
            rng = np.random.RandomState(1)
            a = tf1.placeholder_with_default(rng.randn(2, 4, 4), [2, 4, 4])
            b = tf.constant(rng.randn(2, 4, 2))
            spd = tf.matmul(a, a, transpose_b=True) + 4 * tf.eye(4, dtype=tf.float64)
            factor = tf.linalg.cholesky(spd)
            values = tf.linalg.eigvalsh(spd)
            singular = tf.linalg.svd(a, compute_uv=False)
            results = [
                factor, values, singular, tf.linalg.inv(spd), tf.linalg.solve(spd, b), tf.linalg.det(a),
                tf.linalg.logdet(spd), tf.linalg.triangular_solve(factor, b), tf.linalg.cholesky_solve(factor, b),
                tf.linalg.lstsq(spd, b), tf.linalg.trace(a), tf.linalg.diag_part(a), tf.linalg.norm(a, axis=[1, 2]),
                tf.linalg.expm(a * 0.1), tf.linalg.tensor_diag([1., 2.]), tf.linalg.adjoint(a), tf.linalg.pinv(a),
                tf.einsum("bij,bjk->bik", a, b), tf.tensordot(a, b, [[2], [1]]), tf.linalg.matrix_rank(spd)]
            scalars = [tf.reduce_sum(r) for r in results[:10] if r.dtype == tf.float64]
            with run.session() as session:
                return session.run(results + tf1.gradients(scalars, a))

        self.same(program, rtol=1e-6, atol=1e-8)

    def test_images(self):
        def program(run):
            image = tf1.placeholder_with_default(np.random.RandomState(1).rand(2, 9, 7, 3).astype(np.float32),
                                                 [2, 9, 7, 3])
            boxes = [[0.1, 0.1, 0.8, 0.9], [0., 0.2, 0.5, 0.6], [0.12, 0.1, 0.8, 0.9]]
            keep = tf.image.non_max_suppression(boxes, [0.9, 0.5, 0.8], 3, 0.5)
            crops = tf.image.crop_and_resize(image, boxes, [0, 1, 0], [4, 4])
            results = [
                tf1.image.resize_bilinear(image, [5, 11], align_corners=True), tf1.image.resize_bicubic(image, [12, 5]),
                tf1.image.resize_nearest_neighbor(image, [4, 4]), tf1.image.resize_area(image, [3, 3]),
                tf.image.rgb_to_grayscale(image),
                tf.image.rgb_to_hsv(image), tf.image.adjust_gamma(image, 0.8), tf.image.rot90(image),
                tf.image.central_crop(image, 0.5), tf.image.pad_to_bounding_box(image, 1, 2, 12, 12), crops, keep,
                tf.image.total_variation(image), tf.image.psnr(image, image * 0.9, 1.0),
                tf.image.ssim(image[:, :, :, :1], image[:, :, :, :1] * 0.9, 1.0, filter_size=3),
                tf.image.sobel_edges(image)]
            smooth = [results[0], results[1], crops]
            with run.session() as session:
                return session.run(results + tf1.gradients([tf.reduce_sum(r ** 2) for r in smooth], image))

        self.same(program, atol=1e-4)

    def test_strings_and_sparse_features(self):
        def program(run):
            lines = tf1.placeholder_with_default(["the cat sat", "", "a dog  ran off"], [None])
            split = tf1.string_split(lines)
            ids = tf1.string_to_hash_bucket_fast(split.values, 50)
            sparse = tf.SparseTensor(split.indices, ids, split.dense_shape)
            ragged = tf.strings.split(lines)
            results = [
                split.values, tf.sparse.to_dense(sparse, default_value=-1), tf.sparse.to_indicator(sparse, 50),
                tf.strings.reduce_join(ragged.to_tensor(""), axis=1, separator="_"), ragged.row_lengths(),
                tf.strings.upper(lines), tf.strings.regex_replace(lines, "[aeiou]", "*"), tf.strings.length(lines),
                tf.strings.substr(split.values, 1, 2), tf.as_string(ids),
                tf.strings.to_number(tf.constant(["1.5", "2"])), tf.unique_with_counts(ids).count,
                tf.sparse.reduce_sum(tf.cast(sparse, tf.float32), 1), tf.sets.size(tf.sets.intersection(
                    tf.constant([[1, 2, 3]]), tf.constant([[2, 3, 4]]))),
                tf.edit_distance(sparse, sparse)]
            with run.session() as session:
                return session.run(results)

        self.same(program)


if __name__ == "__main__":
    program_case.main()
