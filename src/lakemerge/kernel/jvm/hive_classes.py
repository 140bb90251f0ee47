"""Hive's Java classes, of the release that Spark speaks to its metastore with.

Spark brings those of Hive 2.3. Where ``spark.sql.hive.metastore.version`` names another release, as it must for a
metastore of Hive 4, Spark loads that release's classes by a loader of their own, and so does the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from py4j.java_gateway import JavaGateway

_METASTORE = "org.apache.hadoop.hive.metastore"
_HIVE_CONF = "org.apache.hadoop.hive.conf.HiveConf"
_VERSION = "org.apache.hive.common.util.HiveVersionInfo"
# The setting of where Spark takes the client's jars from, and its default: its own.
_JARS, _OWN = "spark.sql.hive.metastore.jars", "builtin"
# The first release whose statistics belong to an engine.
_ENGINES = 4


class HiveClasses:
    """Makes objects of Hive's and Thrift's classes.

    Args:
        loader: a ``java.lang.ClassLoader`` that has them.
    """

    def __init__(self, gateway: JavaGateway, loader: Any) -> None:
        self._gateway = gateway
        self._loader = loader
        self._classes: dict[str, Any] = {}

    @classmethod
    def of_spark(cls, spark: Any) -> HiveClasses:
        """Those of Spark's client of the metastore, whose class Spark loads by the same loader as Hive's."""
        gateway = spark.sparkContext._gateway
        if spark.conf.get(_JARS, _OWN) == _OWN:
            return cls.of_class_path(gateway)
        client = spark._jsparkSession.sharedState().externalCatalog().unwrapped().client()
        # py4j cannot look at the client itself: some methods of its class name classes that Hive 4 lacks
        return cls(
            gateway, gateway.jvm.org.apache.hadoop.util.ReflectionUtils.getClass(client).getClassLoader()
        )

    @classmethod
    def of_class_path(cls, gateway: JavaGateway) -> HiveClasses:
        """Those of the class path."""
        return cls(gateway, gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader())

    @cached_property
    def has_engines(self) -> bool:
        """Whether the statistics of columns belong to an engine, and calls about them name it."""
        invoke = self._gateway.jvm.org.apache.commons.lang3.reflect.MethodUtils.invokeStaticMethod
        version = invoke(self._class(_VERSION), "getShortVersion", self._array(()))
        return int(str(version).partition(".")[0]) >= _ENGINES

    def conf(self, hadoop_conf: Any) -> Any:
        """A ``HiveConf`` of a Hadoop configuration."""
        conf = self.new(_HIVE_CONF, hadoop_conf, self._class(_HIVE_CONF))
        conf.setClassLoader(self._loader)  # for the classes that settings name
        return conf

    def client(self, hive_conf: Any) -> Any:
        """A ``HiveMetaStoreClient``."""
        return self.new(f"{_METASTORE}.HiveMetaStoreClient", hive_conf)

    def row(self, name: str) -> Any:
        """An empty object of the package ``org.apache.hadoop.hive.metastore.api``."""
        return self.new(f"{_METASTORE}.api.{name}")

    def new(self, name: str, *arguments: Any) -> Any:
        """An object of a class, by its full name."""
        if not arguments:
            return self._class(name).newInstance()
        invoke = self._gateway.jvm.org.apache.commons.lang3.reflect.ConstructorUtils.invokeConstructor
        return invoke(self._class(name), self._array(arguments))

    def _class(self, name: str) -> Any:
        if name not in self._classes:
            self._classes[name] = self._loader.loadClass(name)
        return self._classes[name]

    def _array(self, values: Sequence[Any]) -> Any:
        array = self._gateway.new_array(self._gateway.jvm.java.lang.Object, len(values))
        for index, value in enumerate(values):
            array[index] = value
        return array
